package compose

// Plain makes a request for which shipped files are checked, and each layer is expanded by itself, none copied from another.
func Plain(r Request) Request {
	r.plain = true
	return r
}
