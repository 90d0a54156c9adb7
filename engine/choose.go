package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/plan"
)

// table holds the programs of one entry with the same inputs and results. One is picked per forward.
type table struct {
	entry   int // index into Engine.entries
	counter int // of positions: index into Session.taken
	name    string
	inputs  []string // sorted
	results []string // sorted
	choices []choice
}

// choice is one program with what must hold for it.
type choice struct {
	first, last int // rows; last 0: no end
	guards      []guard
	program     *program
}

type symbol uint8

const (
	symB symbol = iota
	symT
	symS
)

type comparison uint8

const (
	equal comparison = iota
	unequal
	less
	atMost
	greater
	atLeast
)

type guard struct {
	symbol symbol
	op     comparison
	number int
}

func compileGuards(gs []plan.Guard) ([]guard, error) {
	symbols := map[string]symbol{"B": symB, "T": symT, "S": symS}
	ops := map[string]comparison{"==": equal, "!=": unequal, "<": less, "<=": atMost, ">": greater, ">=": atLeast}
	var out []guard
	for _, g := range gs {
		s, ok := symbols[g.Symbol]
		op, known := ops[g.Operator]
		if !ok || !known {
			return nil, fmt.Errorf("guard %s %s %d compares none of B, T, S", g.Symbol, g.Operator, g.Number)
		}
		out = append(out, guard{s, op, g.Number})
	}
	return out, nil
}

func (g guard) holds(sizes [3]int) bool {
	v := sizes[g.symbol]
	switch g.op {
	case equal:
		return v == g.number
	case unequal:
		return v != g.number
	case less:
		return v < g.number
	case atMost:
		return v <= g.number
	case greater:
		return v > g.number
	}
	return v >= g.number
}

// choose picks the program for b sequences of t new tokens, s positions each with those before.
func (t *table) choose(b, n, s int) (*program, error) {
	rows, sizes := b*n, [3]int{b, n, s}
next:
	for i := range t.choices {
		c := &t.choices[i]
		if rows < c.first || c.last != 0 && rows > c.last {
			continue
		}
		for _, g := range c.guards {
			if !g.holds(sizes) {
				continue next
			}
		}
		return c.program, nil
	}
	return nil, fmt.Errorf("entry %s has no program for %s with B = %d, T = %d, S = %d (%d rows)",
		t.name, describe(t.results), b, n, s, rows)
}

// find gives the table for an entry, its given inputs and the asked outputs. Where no table has exactly these
// outputs, the one with the fewest more serves: what is not asked is never evaluated.
func find(tables []*table, entry string, inputs, outputs []string) (*table, error) {
	var best *table
	var have []string
	known := false
	for _, t := range tables {
		if t.name != entry {
			continue
		}
		known = true
		if !slices.Equal(t.inputs, inputs) {
			have = append(have, "given "+describe(t.inputs)+": "+describe(t.results))
			continue
		}
		have = append(have, describe(t.results))
		if subset(outputs, t.results) && (best == nil || len(t.results) < len(best.results)) {
			best = t
		}
	}
	switch {
	case best != nil:
		return best, nil
	case !known:
		return nil, fmt.Errorf("the plan has no entry %s", entry)
	}
	return nil, fmt.Errorf("entry %s, given %s, has no program for %s; the plan has programs for %s",
		entry, describe(inputs), describe(outputs), strings.Join(slices.Compact(have), "; "))
}

func subset(part, whole []string) bool {
	for _, p := range part {
		if !slices.Contains(whole, p) {
			return false
		}
	}
	return true
}

func describe(names []string) string {
	if len(names) == 0 {
		return "no output"
	}
	return strings.Join(names, ", ")
}

func names(named []plan.Named) []string {
	out := make([]string, len(named))
	for i, n := range named {
		out[i] = n.Name
	}
	slices.Sort(out)
	return out
}
