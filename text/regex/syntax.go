package regex

import "fmt"

// node is one of *class, literal, sequence, choice, *repeat, *look, *atomic and assertion.
type node any

type (
	literal   string
	sequence  []node
	choice    []node
	assertion byte // '^', '$', 'A', 'z', 'Z', 'b', 'B'
)

type repeat struct {
	sub      node
	min, max int // max < 0: without bound
	mode     mode
}

type mode byte

const (
	greedy mode = iota
	lazy
	possessive
)

type look struct {
	sub           node
	behind, neg   bool
	shortest, far int // for behind: its length in code points
}

type atomic struct{ sub node }

// Error says what in a pattern cannot be used, and where: Offset counts bytes from 0.
type Error struct {
	Pattern string
	Offset  int
	Message string
}

func (e *Error) Error() string {
	p := e.Pattern
	if len(p) > 200 {
		p = p[:200] + "…"
	}
	return fmt.Sprintf("pattern %q, offset %d: %s", p, e.Offset, e.Message)
}

// lengths returns the shortest and the greatest number of code points that n matches; the greatest is -1 if unbounded.
func lengths(n node) (shortest, far int) {
	switch n := n.(type) {
	case *class:
		return 1, 1
	case literal:
		c := len([]rune(string(n)))
		return c, c
	case sequence:
		for _, s := range n {
			lo, hi := lengths(s)
			shortest += lo
			if hi < 0 || far < 0 {
				far = -1
			} else {
				far += hi
			}
		}
		return shortest, far
	case choice:
		for i, s := range n {
			lo, hi := lengths(s)
			if i == 0 {
				shortest, far = lo, hi
				continue
			}
			shortest = min(shortest, lo)
			if hi < 0 || far < 0 {
				far = -1
			} else {
				far = max(far, hi)
			}
		}
		return shortest, far
	case *repeat:
		lo, hi := lengths(n.sub)
		if n.max < 0 || hi < 0 {
			return lo * n.min, -1
		}
		return lo * n.min, hi * n.max
	case *atomic:
		return lengths(n.sub)
	}
	return 0, 0
}
