//go:build cgo && mlx

package engine

// StateBytes is what a session's states hold now, for the leak test.
func (s *Session) StateBytes() int {
	n := 0
	_ = s.engine.do(func() error {
		for _, a := range s.stateArrays(nil) {
			n += a.Nbytes()
		}
		return nil
	})
	return n
}
