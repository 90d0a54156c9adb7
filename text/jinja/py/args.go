package py

import (
	"fmt"
	"slices"
)

// Bind assigns arguments to parameters by position and by name. A parameter with a "?" behind its name may be missing;
// its value is then nil and its given false.
func Bind(function string, a Args, params ...string) (values []any, given []bool, err error) {
	values, given = make([]any, len(params)), make([]bool, len(params))
	if len(a.Pos) > len(params) {
		return nil, nil, fmt.Errorf("%s() takes %d arguments but %d were given", function, len(params), len(a.Pos))
	}
	for i, v := range a.Pos {
		values[i], given[i] = v, true
	}
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p
		if p[len(p)-1] == '?' {
			names[i] = p[:len(p)-1]
		}
	}
	for _, kw := range a.Kw {
		i := slices.Index(names, kw.Name)
		if i < 0 {
			return nil, nil, fmt.Errorf("%s() got an unexpected keyword argument '%s'", function, kw.Name)
		}
		if given[i] {
			return nil, nil, fmt.Errorf("%s() got multiple values for argument '%s'", function, kw.Name)
		}
		values[i], given[i] = kw.Value, true
	}
	for i, p := range params {
		if !given[i] && p[len(p)-1] != '?' {
			return nil, nil, fmt.Errorf("%s() missing the argument '%s'", function, p)
		}
	}
	return values, given, nil
}
