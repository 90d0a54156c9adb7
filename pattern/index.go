package pattern

import (
	"slices"
	"sort"
	"strings"
)

// Index finds names by pattern without asking each one: a literal beginning narrows the search.
type Index struct{ names []string }

// NewIndex makes an index of names; it keeps a sorted copy without duplicates.
func NewIndex(names []string) *Index {
	s := slices.Clone(names)
	slices.Sort(s)
	return &Index{slices.Compact(s)}
}

// Names gives the indexed names, sorted; they are not to be changed.
func (x *Index) Names() []string { return x.names }

// Find gives the captures of every name that p matches, sorted by name.
func (x *Index) Find(p *Pattern) []Captures {
	var out []Captures
	x.each(p, func(name string) bool {
		if c, ok := p.Match(name); ok {
			out = append(out, c)
		}
		return true
	})
	return out
}

// Any tells whether p matches one of the names.
func (x *Index) Any(p *Pattern) bool {
	found := false
	x.each(p, func(name string) bool {
		found = p.Matches(name)
		return !found
	})
	return found
}

func (x *Index) each(p *Pattern, f func(string) bool) {
	from := sort.SearchStrings(x.names, p.prefix)
	for _, name := range x.names[from:] {
		if !strings.HasPrefix(name, p.prefix) || !f(name) {
			return
		}
	}
}
