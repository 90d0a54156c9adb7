package mlx

// Compiled is a function that MLX traced and fused. It is for the thread that made it.
type Compiled struct {
	closure uintptr
	handle  uintptr
	state   *tracing
}

// tracing is what a trace needs of the call that set it off.
type tracing struct {
	fn     func(*Scope, []Array) ([]Array, error)
	stream Stream
	err    error
}

// Compile makes a compiled function of fn, which is traced at the first call and at every call with inputs of new
// shapes or dtypes; with shapeless, of new dtypes or numbers of dimensions only (not every operation allows it). fn gets
// a scope that is freed after it and inputs that the scope owns; it must not evaluate, and must do the same each time.
func Compile(fn func(s *Scope, in []Array) ([]Array, error), shapeless bool) (*Compiled, error) {
	return compile(fn, shapeless)
}

// Call runs the function lazily; the results belong to s.
func (c *Compiled) Call(s *Scope, in []Array) []Array {
	if s.err != nil {
		return nil
	}
	return c.call(s, in)
}

// Free lets go of the function.
func (c *Compiled) Free() { c.free() }

// EnableCompile makes Compile work again after DisableCompile. Both hold for the whole process.
func EnableCompile() error { return compileMode(true) }

// DisableCompile makes compiled functions run as written, for looking into them.
func DisableCompile() error { return compileMode(false) }
