package compose

import (
	"math"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/plan"
)

// bounds are the values that a symbol may have under the answers: lo..hi, as far as comparisons narrow a range. Holes
// that != leaves are kept as the answers themselves.
func bounds(answers []answer, symbol string) (lo, hi int) {
	lo, hi = 1, math.MaxInt
	for _, a := range answers {
		if a.on.Symbol != symbol {
			continue
		}
		op, n := a.on.Operator, a.on.Number
		if !a.value {
			op = opposite[op]
		}
		switch op {
		case "==":
			lo, hi = max(lo, n), min(hi, n)
		case "<":
			hi = min(hi, n-1)
		case "<=":
			hi = min(hi, n)
		case ">":
			lo = max(lo, n+1)
		case ">=":
			lo = max(lo, n)
		case "!=":
			if n == lo {
				lo++
			} else if n == hi {
				hi--
			}
		}
	}
	return lo, hi
}

var opposite = map[string]string{"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

// within answers a comparison for every value of lo..hi, if the answer is one.
func within(c expr.Comparison, lo, hi int) (value, known bool) {
	n := c.Number
	switch c.Operator {
	case "==":
		return lo == n && hi == n, lo == n && hi == n || n < lo || n > hi
	case "!=":
		v, known := within(expr.Comparison{Symbol: c.Symbol, Operator: "==", Number: n}, lo, hi)
		return !v, known
	case "<":
		return hi < n, hi < n || lo >= n
	case "<=":
		return hi <= n, hi <= n || lo > n
	case ">":
		return lo > n, lo > n || hi <= n
	case ">=":
		return lo >= n, lo >= n || hi < n
	}
	return false, false
}

// guards writes the answers as a program's guards.
func guards(answers []answer) []plan.Guard {
	var out []plan.Guard
	for _, a := range answers {
		op := a.on.Operator
		if !a.value {
			op = opposite[op]
		}
		out = append(out, plan.Guard{Symbol: a.on.Symbol, Operator: op, Number: a.on.Number})
	}
	return out
}

// possible leaves out answers that no forward can have: an empty range, S < T.
func possible(answers []answer) bool {
	for _, s := range []string{"B", "T", "S"} {
		if lo, hi := bounds(answers, s); lo > hi {
			return false
		}
	}
	tLo, _ := bounds(answers, "T")
	_, sHi := bounds(answers, "S")
	return tLo <= sHi
}
