package compose

import (
	"strings"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/plan"
)

// Most layers of a model differ in their number alone. A trace is what the expansion of one index of a repeat asked and
// took that may be otherwise at another: what its expressions made of the index, the tensors, ports, weights and states
// below its path, the lines of `set` that speak of them. Where all that is answered the same at another index, its calls are
// the same ones, with other paths and numbers, and they are copied. Where an answer differs, or what was taken is not of the
// layer's own making, the other index is expanded as the first one was; so it is where anything is wrong, and reported.
type trace struct {
	call   *syntax.Call // the repeat's
	index  *scalar
	prefix string
	steps  []func(*copying) bool // what has to be answered the same, in the order of the expansion
	read   int                   // how often the index was read
	own    bool                  // false: it cannot be copied
}

// copying is a layer that is made from the trace of another: what stands for what was taken there.
type copying struct {
	from, to string // paths
	tensors  map[int]int
	ports    map[int]int
	states   map[int]int
}

// path is what a path of the traced layer is called in this one.
func (y *copying) path(path string) string {
	if y.from == y.to || !below(path, y.from) {
		return path
	}
	return y.to + path[len(y.from):]
}

// below tells whether a path is a prefix or continues it.
func below(path, prefix string) bool {
	return strings.HasPrefix(path, prefix) && (len(path) == len(prefix) || prefix == "" || path[len(prefix)] == '.')
}

func at(m map[int]int, i int) int {
	if other, ok := m[i]; ok {
		return other
	}
	return i
}

// again keeps what has to be answered the same.
func (t *trace) again(step func(*copying) bool) {
	if t != nil {
		t.steps = append(t.steps, step)
	}
}

// fail says that the layer cannot be copied.
func (t *trace) fail() {
	if t != nil {
		t.own = false
	}
}

// reads notes that an expression took a scalar's value.
func (t *trace) reads(s *scalar) {
	if t != nil && s == t.index {
		t.read++
	}
}

// hands notes that a scalar's value is taken as it is.
func (t *trace) hands(s *scalar) {
	if t != nil && s == t.index {
		t.own = false
	}
}

// count tells how often the index was read so far.
func (t *trace) count() int {
	if t == nil {
		return 0
	}
	return t.read
}

// asked keeps an expression if it read the index since then.
func (t *trace) asked(before int, same func() bool) {
	if t != nil && t.read != before {
		t.again(func(*copying) bool { return same() })
	}
}

// takes notes a path that was not made from the layer's own: it may not look as if it were.
func (t *trace) takes(path string) {
	if t != nil && below(path, t.prefix) {
		t.own = false
	}
}

// declared notes the path of a declaration, which may stand around the layer.
func (t *trace) declared(by *frame, path string) {
	if t != nil && by.trace != t {
		t.takes(path)
	}
}

// typ is a type with the lengths of states renamed.
func (y *copying) typ(t plan.Type) plan.Type {
	for i, d := range t.Shape {
		if other := d.Rename(y.length); !other.Equal(d) {
			t.Shape = t.Shape.With(i, other)
		}
	}
	return t
}

func (y *copying) types(list []plan.Type) []plan.Type {
	out := list
	for i, t := range list {
		if other := y.typ(t); !other.Shape.Equal(t.Shape) {
			if &out[0] == &list[0] {
				out = append([]plan.Type(nil), list...)
			}
			out[i] = other
		}
	}
	return out
}

// lengthOf is the symbol of how much a state holds.
func lengthOf(state string) string { return "len(" + state + ")" }

func (y *copying) length(symbol string) string {
	if state, is := strings.CutPrefix(symbol, "len("); is {
		return lengthOf(y.path(strings.TrimSuffix(state, ")")))
	}
	return symbol
}
