// Package shape is the algebra of array shapes before they are known: a dim is an integer or a linear form of the
// symbols B (sequences), T (new tokens per sequence), S (T plus earlier positions) and of lengths that only a state
// knows at run time. It never divides and never guesses: two dims are equal only if their forms are.
package shape

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Dim is Const plus the sum of Terms. The zero value is 0.
type Dim struct {
	Const int
	Terms []Term // sorted by Symbol, no zero Factor
}

// Term is Factor times a symbol.
type Term struct {
	Symbol string
	Factor int
}

// Shape is the dims of an array, outermost first. A nil shape is a scalar's.
type Shape []Dim

// Int is a known dim.
func Int(n int) Dim { return Dim{Const: n} }

// Sym is the dim that a symbol stands for.
func Sym(name string) Dim { return Dim{Terms: []Term{{name, 1}}} }

// Of is the shape of known dims.
func Of(dims ...int) Shape {
	s := make(Shape, len(dims))
	for i, d := range dims {
		s[i] = Int(d)
	}
	return s
}

// Known gives the integer that d is, if it is one.
func (d Dim) Known() (int, bool) { return d.Const, len(d.Terms) == 0 }

// Equal tells whether both are the same linear form.
func (d Dim) Equal(e Dim) bool {
	if d.Const != e.Const || len(d.Terms) != len(e.Terms) {
		return false
	}
	for i, t := range d.Terms {
		if t != e.Terms[i] {
			return false
		}
	}
	return true
}

// Add is d + e.
func (d Dim) Add(e Dim) Dim { return d.plus(e, 1) }

// Sub is d - e.
func (d Dim) Sub(e Dim) Dim { return d.plus(e, -1) }

func (d Dim) plus(e Dim, sign int) Dim {
	out := Dim{Const: d.Const + sign*e.Const}
	i, j := 0, 0
	for i < len(d.Terms) || j < len(e.Terms) {
		switch {
		case j == len(e.Terms) || i < len(d.Terms) && d.Terms[i].Symbol < e.Terms[j].Symbol:
			out.Terms = append(out.Terms, d.Terms[i])
			i++
		case i == len(d.Terms) || e.Terms[j].Symbol < d.Terms[i].Symbol:
			out.Terms = append(out.Terms, Term{e.Terms[j].Symbol, sign * e.Terms[j].Factor})
			j++
		default:
			if f := d.Terms[i].Factor + sign*e.Terms[j].Factor; f != 0 {
				out.Terms = append(out.Terms, Term{d.Terms[i].Symbol, f})
			}
			i, j = i+1, j+1
		}
	}
	return out
}

// Rename is d with other names of its symbols.
func (d Dim) Rename(name func(string) string) Dim {
	same := true
	for _, t := range d.Terms {
		same = same && name(t.Symbol) == t.Symbol
	}
	if same {
		return d
	}
	out := Int(d.Const)
	for _, t := range d.Terms {
		out = out.Add(Dim{Terms: []Term{{name(t.Symbol), t.Factor}}})
	}
	return out
}

// Mul is d * n.
func (d Dim) Mul(n int) Dim {
	if n == 0 {
		return Dim{}
	}
	out := Dim{Const: d.Const * n, Terms: make([]Term, len(d.Terms))}
	for i, t := range d.Terms {
		out.Terms[i] = Term{t.Symbol, t.Factor * n}
	}
	if len(out.Terms) == 0 {
		out.Terms = nil
	}
	return out
}

// Eval is the integer that d is where the symbols have values.
func (d Dim) Eval(values map[string]int) (int, error) {
	n := d.Const
	for _, t := range d.Terms {
		v, ok := values[t.Symbol]
		if !ok {
			return 0, fmt.Errorf("%s is not known here", t.Symbol)
		}
		n += t.Factor * v
	}
	return n, nil
}

// String writes the form as a person would: "2*T + 1", "S".
func (d Dim) String() string {
	if len(d.Terms) == 0 {
		return strconv.Itoa(d.Const)
	}
	var b strings.Builder
	terms := append([]Term(nil), d.Terms...)
	sort.SliceStable(terms, func(i, j int) bool { return terms[i].Factor > 0 && terms[j].Factor < 0 })
	for i, t := range terms {
		f := t.Factor
		switch {
		case i == 0 && f < 0:
			b.WriteString("-")
			f = -f
		case i > 0 && f < 0:
			b.WriteString(" - ")
			f = -f
		case i > 0:
			b.WriteString(" + ")
		}
		if f != 1 {
			fmt.Fprintf(&b, "%d*", f)
		}
		b.WriteString(t.Symbol)
	}
	switch {
	case d.Const > 0:
		fmt.Fprintf(&b, " + %d", d.Const)
	case d.Const < 0:
		fmt.Fprintf(&b, " - %d", -d.Const)
	}
	return b.String()
}

// MarshalText writes String.
func (d Dim) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Equal tells whether both have the same dims.
func (s Shape) Equal(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if !s[i].Equal(t[i]) {
			return false
		}
	}
	return true
}

// Known gives the integers of s if every dim is one.
func (s Shape) Known() ([]int, bool) {
	out := make([]int, len(s))
	for i, d := range s {
		n, ok := d.Known()
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// Clone copies the list of dims.
func (s Shape) Clone() Shape { return append(Shape(nil), s...) }

// With is a copy in which dim i is d.
func (s Shape) With(i int, d Dim) Shape {
	out := s.Clone()
	out[i] = d
	return out
}

// Last is the innermost dim.
func (s Shape) Last() Dim { return s[len(s)-1] }

// Axis makes an axis that may count from the end absolute.
func (s Shape) Axis(axis int) (int, error) {
	a := axis
	if a < 0 {
		a += len(s)
	}
	if a < 0 || a >= len(s) {
		return 0, fmt.Errorf("axis %d is outside %s", axis, s)
	}
	return a, nil
}

func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Broadcast is the shape of an element-wise operation on s and t by MLX's rules. A dim that is 1 stretches; a dim
// that is not known to be equal to its neighbour does not.
func Broadcast(s, t Shape) (Shape, error) {
	long, short := s, t
	if len(short) > len(long) {
		long, short = short, long
	}
	out, shift := long.Clone(), len(long)-len(short)
	for i, d := range short {
		e := long[shift+i]
		switch {
		case d.Equal(e):
		case isOne(d):
		case isOne(e):
			out[shift+i] = d
		default:
			return nil, fmt.Errorf("%s and %s do not broadcast: %s is not %s", s, t, d, e)
		}
	}
	return out, nil
}

func isOne(d Dim) bool { n, ok := d.Known(); return ok && n == 1 }

// Product is the number of elements as a linear form; ok is false where it is not linear (B*T).
func (s Shape) Product() (Dim, bool) {
	out := Int(1)
	for _, d := range s {
		if n, ok := d.Known(); ok {
			out = out.Mul(n)
		} else if n, ok := out.Known(); ok {
			out = d.Mul(n)
		} else {
			return Dim{}, false
		}
	}
	return out, true
}
