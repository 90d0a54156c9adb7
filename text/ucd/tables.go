package ucd

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed tables.txt
var source string

// Table is a set of code points.
type Table struct {
	ranges []span
}

type span struct{ lo, hi rune }

// Contains reports whether r is in the set.
func (t *Table) Contains(r rune) bool {
	if t == nil {
		return false
	}
	i, found := slices.BinarySearchFunc(t.ranges, r, func(s span, r rune) int { return int(s.lo - r) })
	if found {
		return true
	}
	return i > 0 && r <= t.ranges[i-1].hi
}

type tables struct {
	pages      [][]Category // of pageSize code points; equal pages are shared
	categories map[string]*Table
	scripts    map[string]*Table
	sets       map[string]*Table
	lower      map[rune]string
}

const pageSize = 256

// load parses the embedded text on first use (under 3 ms).
var load = sync.OnceValue(func() *tables {
	t := &tables{
		categories: map[string]*Table{}, scripts: map[string]*Table{}, sets: map[string]*Table{},
		lower: map[rune]string{},
	}
	for line := range strings.Lines(source) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, list, _ := strings.Cut(rest, " ")
		switch kind {
		case "gc":
			t.categories[name] = parse(list)
		case "sc":
			t.scripts[loose(name)] = parse(list)
		case "set":
			t.sets[name] = parse(list)
		case "lower":
			var b strings.Builder
			for r := range strings.FieldsSeq(list) {
				b.WriteRune(hex(r))
			}
			t.lower[hex(name)] = b.String()
		}
	}
	t.fill()
	return t
})

// fill builds the two-stage table of categories.
func (t *tables) fill() {
	flat := make([]Category, 0x110000)
	for c, name := range categoryNames {
		if table := t.categories[name]; table != nil {
			for _, s := range table.ranges {
				for r := s.lo; r <= s.hi; r++ {
					flat[r] = Category(c)
				}
			}
		}
	}
	shared := map[string][]Category{}
	key := make([]byte, pageSize)
	for at := 0; at < len(flat); at += pageSize {
		for i := range key {
			key[i] = byte(flat[at+i])
		}
		page, ok := shared[string(key)]
		if !ok {
			page = slices.Clone(flat[at : at+pageSize])
			shared[string(key)] = page
		}
		t.pages = append(t.pages, page)
	}
}

func parse(list string) *Table {
	t := &Table{}
	for f := range strings.FieldsSeq(list) {
		lo, hi, isRange := strings.Cut(f, "-")
		if !isRange {
			hi = lo
		}
		t.ranges = append(t.ranges, span{hex(lo), hex(hi)})
	}
	return t
}

func hex(s string) rune {
	n, err := strconv.ParseUint(s, 16, 32)
	if err != nil || n > 0x10FFFF {
		panic("ucd: the embedded table holds " + strconv.Quote(s)) // the file is part of the program
	}
	return rune(n)
}

// loose folds a property name for comparison: case, spaces, '-' and '_' do not count.
func loose(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == ' ':
			return -1
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
