package compose

// Plain makes a request for which each layer is expanded by itself, none copied from another.
func Plain(r Request) Request {
	r.plain = true
	return r
}
