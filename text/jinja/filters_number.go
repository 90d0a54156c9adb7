package jinja

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/text/jinja/py"
)

func filterAbs(_ *run, v any, _ py.Args) (any, error) {
	if n, ok := py.Int(v); ok {
		if n < 0 {
			return py.Negate(n)
		}
		return n, nil
	}
	if f, ok := v.(float64); ok {
		return math.Abs(f), nil
	}
	if u, ok := v.(*py.Undefined); ok {
		return nil, errors.New(u.Message)
	}
	return nil, fmt.Errorf("bad operand type for abs(): '%s'", py.TypeName(v))
}

// number reads the text of a number as Python's int() and float() do: white space around it, underscores between digits.
func numberText(s string) (string, bool) {
	s, _ = py.Strip(s, nil, "")
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return "", false
	}
	return strings.ReplaceAll(s, "_", ""), s != ""
}

func toFloat(v any) (float64, bool) {
	if s, ok := py.Text(v); ok {
		s, ok = numberText(s)
		if !ok || strings.ContainsAny(s, "xXpP") {
			return 0, false
		}
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil || math.IsInf(f, 0)
	}
	return py.Float(v)
}

func filterFloat(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("float", a, "default?")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*py.Undefined); ok {
		return nil, errors.New(u.Message)
	}
	if f, ok := toFloat(v); ok {
		return f, nil
	}
	if given[0] {
		return p[0], nil
	}
	return 0.0, nil
}

func filterInt(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("int", a, "default?", "base?")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*py.Undefined); ok {
		return nil, errors.New(u.Message)
	}
	base := int64(10)
	if given[1] {
		base, _ = py.Int(p[1])
	}
	if n, ok := py.Int(v); ok {
		return n, nil
	}
	if s, ok := py.Text(v); ok {
		if n, ok := parseInt(s, base); ok {
			return n, nil
		}
	}
	if f, ok := toFloat(v); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
		if math.Abs(f) < 1<<63 {
			return int64(f), nil
		}
		n, _ := big.NewFloat(f).Int(nil)
		return n, nil
	}
	if given[0] {
		return p[0], nil
	}
	return int64(0), nil
}

func parseInt(s string, base int64) (int64, bool) {
	s, ok := numberText(s)
	if !ok || base < 2 || base > 36 {
		return 0, false
	}
	sign := ""
	if s[0] == '-' || s[0] == '+' {
		sign, s = s[:1], s[1:]
	}
	for prefix, b := range map[string]int64{"0x": 16, "0o": 8, "0b": 2} {
		if base == b && strings.HasPrefix(strings.ToLower(s), prefix) {
			s = s[2:]
		}
	}
	if s == "" || s[0] == '-' || s[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(sign+s, int(base), 64)
	return n, err == nil
}

// filterRound rounds half to even, as Python does, or up or down by method.
func filterRound(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("round", a, "precision?", "method?")
	if err != nil {
		return nil, err
	}
	precision, method := int64(0), "common"
	if given[0] {
		precision, _ = py.Int(p[0])
	}
	if given[1] {
		method, _ = py.Text(p[1])
	}
	f, ok := py.Float(v)
	if !ok {
		if u, ok := v.(*py.Undefined); ok {
			return nil, errors.New(u.Message)
		}
		return nil, fmt.Errorf("type %s doesn't define __round__ method", py.TypeName(v))
	}
	precision = min(max(precision, -400), 400)
	scale := math.Pow(10, float64(precision))
	switch method {
	case "ceil":
		return math.Ceil(f*scale) / scale, nil
	case "floor":
		return math.Floor(f*scale) / scale, nil
	case "common":
	default:
		return nil, errors.New("method must be common, ceil or floor")
	}
	if n, ok := py.Int(v); ok {
		if precision >= 0 {
			return n, nil
		}
		return int64(math.RoundToEven(f*scale) / scale), nil
	}
	if precision < 0 {
		return math.RoundToEven(f*scale) / scale, nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(precision), 64), 64)
	if err != nil {
		return f, nil // infinities and what is too large to have a fraction
	}
	return rounded, nil
}

func filterSum(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("sum", a, "attribute?", "start?")
	if err != nil {
		return nil, err
	}
	items, err := py.Iterate(v)
	if err != nil {
		return nil, err
	}
	var total any = int64(0)
	if given[1] {
		total = p[1]
	}
	for _, item := range items {
		if given[0] && p[0] != nil {
			if item, err = attribute(item, p[0]); err != nil {
				return nil, err
			}
		}
		if total, err = py.Binary("+", total, item); err != nil {
			return nil, err
		}
	}
	return total, nil
}
