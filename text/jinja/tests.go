package jinja

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/text/jinja/py"
)

// operators are the names of tests that compare.
var operators = map[string]string{
	"eq": "==", "equalto": "==", "==": "==", "ne": "!=", "!=": "!=", "lt": "<", "lessthan": "<", "<": "<", "le": "<=",
	"<=": "<=", "gt": ">", "greaterthan": ">", ">": ">", "ge": ">=", ">=": ">=", "in": "in",
}

// plainTests are the names of tests without arguments.
const plainTests = " defined undefined none boolean true false integer float number string mapping sequence iterable callable odd even lower upper escaped filter test "

func isTest(name string) bool {
	return operators[name] != "" || name == "sameas" || name == "divisibleby" || strings.Contains(plainTests, " "+name+" ")
}

// test applies a test to v.
func (r *run) test(name string, v any, a py.Args) (bool, error) {
	if !isTest(name) {
		return false, fmt.Errorf("No test named '%s'.", name)
	}
	if op, ok := operators[name]; ok {
		other, err := oneArg(name, a)
		if err != nil {
			return false, err
		}
		return py.Compare(op, v, other)
	}
	switch name {
	case "sameas":
		other, err := oneArg(name, a)
		return err == nil && py.TypeName(v) == py.TypeName(other) && py.Equal(v, other), err
	case "divisibleby":
		other, err := oneArg(name, a)
		if err != nil {
			return false, err
		}
		rest, err := py.Binary("%", v, other)
		return err == nil && py.Equal(rest, int64(0)), err
	}
	if len(a.Pos)+len(a.Kw) > 0 {
		return false, fmt.Errorf("the test '%s' takes no arguments", name)
	}
	return plainTest(name, v)
}

func oneArg(name string, a py.Args) (any, error) {
	if len(a.Pos) != 1 || len(a.Kw) > 0 {
		return nil, fmt.Errorf("the test '%s' takes one argument", name)
	}
	return a.Pos[0], nil
}

func plainTest(name string, v any) (bool, error) {
	_, undefined := v.(*py.Undefined)
	b, isBool := v.(bool)
	_, isInt := py.Int(v)
	_, isNumber := py.Float(v)
	_, isFloat := v.(float64)
	text, isText := py.Text(v)
	switch name {
	case "defined":
		return !undefined, nil
	case "undefined":
		return undefined, nil
	case "none":
		return v == nil, nil
	case "boolean":
		return isBool, nil
	case "true":
		return isBool && b, nil
	case "false":
		return isBool && !b, nil
	case "integer":
		return isNumber && !isFloat && !isBool, nil
	case "float":
		return isFloat, nil
	case "number":
		return isNumber, nil
	case "string":
		return isText, nil
	case "mapping":
		_, ok := v.(*py.Dict)
		return ok, nil
	case "sequence":
		switch v.(type) {
		case *py.List, *py.Tuple, *py.Dict, *py.Range, *py.Undefined:
			return true, nil
		}
		return isText, nil
	case "iterable":
		switch v.(type) {
		case *py.List, *py.Tuple, *py.Dict, *py.Range, *py.Undefined, *py.View, *py.Iter:
			return true, nil
		}
		return isText, nil
	case "callable":
		switch v.(type) {
		case *py.Func, *py.Undefined, *loop:
			return true, nil
		}
		return false, nil
	case "odd", "even":
		want := int64(0)
		if name == "odd" {
			want = 1
		}
		if !isInt && !isFloat {
			_, err := py.Binary("%", v, int64(2))
			return false, err
		}
		rest, err := py.Binary("%", v, int64(2))
		return err == nil && py.Equal(rest, want), err
	case "lower":
		return caseTest(py.Str(v), "islower")
	case "upper":
		return caseTest(py.Str(v), "isupper")
	case "escaped":
		_, ok := v.(py.Markup)
		return ok, nil
	case "filter":
		return isText && isFilter(text), nil
	case "test":
		return isText && isTest(text), nil
	}
	return false, fmt.Errorf("No test named '%s'.", name)
}

func caseTest(text, method string) (bool, error) {
	f, ok := py.GetAttr(text, method).(*py.Func)
	if !ok {
		return false, fmt.Errorf("str has no %s", method)
	}
	v, err := f.Call(py.Args{})
	return v == true, err
}
