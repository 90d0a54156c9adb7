package regex

// byteSet is a set of first bytes of UTF-8 text.
type byteSet [4]uint64

func (s *byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }
func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }

func (s *byteSet) addAll(o byteSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s *byteSet) addClass(c *class) {
	s[0] |= c.ascii[0]
	s[1] |= c.ascii[1]
	if c.beyondASCII() {
		for b := 0xC2; b <= 0xF4; b++ {
			s.add(byte(b))
		}
	}
}

// first returns the bytes that a match of n can start with, and whether n can match without consuming anything: then
// what follows decides too.
func first(n node) (set byteSet, nullable bool) {
	switch n := n.(type) {
	case literal:
		if n == "" {
			return set, true
		}
		set.add(n[0])
	case *class:
		set.addClass(n)
	case sequence:
		for _, item := range n {
			s, empty := first(item)
			set.addAll(s)
			if !empty {
				return set, false
			}
		}
		return set, true
	case choice:
		for _, arm := range n {
			s, empty := first(arm)
			set.addAll(s)
			nullable = nullable || empty
		}
		return set, nullable
	case *repeat:
		s, empty := first(n.sub)
		return s, empty || n.min == 0
	case *atomic:
		return first(n.sub)
	case *look, assertion:
		return set, true
	}
	return set, false
}
