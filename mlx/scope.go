package mlx

import "slices"

// Scope is an arena: its operations run on one stream, and what they make belongs to it until it is freed. The first
// error stays; after it every operation does nothing and gives absent arrays. A Scope is for one goroutine at a time, on
// the OS thread that its stream belongs to (see Worker).
type Scope struct {
	stream Stream
	owned  []Array // freed or given away ones are absent, so that marks stay right
	err    error
}

// NewScope makes an arena whose operations run on s.
func NewScope(s Stream) *Scope { return &Scope{stream: s} }

// Stream is where the operations run.
func (s *Scope) Stream() Stream { return s.stream }

// Err is the first error, or nil.
func (s *Scope) Err() error { return s.err }

// Fail keeps err, unless there was an error before or err is nil.
func (s *Scope) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// ResetErr takes the error: the operations work again.
func (s *Scope) ResetErr() error {
	err := s.err
	s.err = nil
	return err
}

// Own makes the scope free a, and gives a.
func (s *Scope) Own(a Array) Array {
	if a.ctx != 0 {
		s.owned = append(s.owned, a)
	}
	return a
}

// Keep takes arrays out of the scope: the caller frees them. Ones that it does not own are left alone.
func (s *Scope) Keep(a ...Array) {
	for _, x := range a {
		if i := s.find(x); i >= 0 {
			s.owned[i] = Array{}
		}
	}
}

// Drop frees arrays of the scope at once, in one call. Ones that it does not own are left alone.
func (s *Scope) Drop(a ...Array) {
	var few [16]Array
	dead := few[:0]
	for _, x := range a {
		if i := s.find(x); i >= 0 {
			dead = append(dead, x)
			s.owned[i] = Array{}
		}
	}
	FreeAll(dead...)
}

// find looks from the end: what is kept or dropped was made lately.
func (s *Scope) find(a Array) int {
	if a.ctx == 0 {
		return -1
	}
	for i := len(s.owned) - 1; i >= 0; i-- {
		if s.owned[i] == a {
			return i
		}
	}
	return -1
}

// Mark remembers how far the scope has come, for ReleaseTo.
func (s *Scope) Mark() int { return len(s.owned) }

// ReleaseTo frees, in one call, everything made since mark but keep, which the scope goes on owning.
func (s *Scope) ReleaseTo(mark int, keep ...Array) {
	if mark < 0 || mark >= len(s.owned) {
		return
	}
	made := s.owned[mark:]
	stay := make([]Array, 0, len(keep))
	for _, k := range keep {
		if i := slices.Index(made, k); i >= 0 && k.ctx != 0 {
			stay = append(stay, k)
			made[i] = Array{}
		}
	}
	FreeAll(made...)
	s.owned = append(s.owned[:mark], stay...)
}

// Free frees everything that the scope owns. It can be used again; an error stays.
func (s *Scope) Free() {
	FreeAll(s.owned...)
	s.owned = s.owned[:0]
}
