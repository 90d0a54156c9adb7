package jinja

import (
	"fmt"

	"github.com/graphrun/graphrun/text/jinja/py"
)

type filterFunc func(r *run, v any, a py.Args) (any, error)

// filter applies a filter to v.
func (r *run) filter(name string, v any, a py.Args) (any, error) {
	f := filterOf(name)
	if f == nil {
		if unsupported[name] {
			return nil, fmt.Errorf("the filter '%s' is not supported", name)
		}
		return nil, fmt.Errorf("No filter named '%s'.", name)
	}
	out, err := f(r, v, a)
	if err == nil {
		err = r.spend(1 + size(v)/64 + size(out)/64)
	}
	return out, err
}

func isFilter(name string) bool { return filterOf(name) != nil || unsupported[name] }

// unsupported are filters of Jinja that make HTML, random choices or wrapped text.
var unsupported = map[string]bool{
	"filesizeformat": true, "pprint": true, "random": true, "striptags": true, "urlize": true, "wordwrap": true, "xmlattr": true,
}

func filterOf(name string) filterFunc {
	switch name {
	case "abs":
		return filterAbs
	case "attr":
		return filterAttr
	case "batch":
		return filterBatch
	case "capitalize":
		return textFilter(name, py.Capitalize)
	case "center":
		return filterCenter
	case "count", "length":
		return filterLength
	case "d", "default":
		return filterDefault
	case "dictsort":
		return filterDictSort
	case "e", "escape", "forceescape":
		return filterEscape
	case "first":
		return filterFirst
	case "float":
		return filterFloat
	case "format":
		return filterFormat
	case "groupby":
		return filterGroupBy
	case "indent":
		return filterIndent
	case "int":
		return filterInt
	case "items":
		return filterItems
	case "join":
		return filterJoin
	case "last":
		return filterLast
	case "list":
		return filterList
	case "lower":
		return textFilter(name, py.Lower)
	case "map":
		return filterMap
	case "max":
		return extreme(1)
	case "min":
		return extreme(-1)
	case "reject":
		return choose(false, false)
	case "rejectattr":
		return choose(false, true)
	case "select":
		return choose(true, false)
	case "selectattr":
		return choose(true, true)
	case "replace":
		return filterReplace
	case "reverse":
		return filterReverse
	case "round":
		return filterRound
	case "safe":
		return func(_ *run, v any, _ py.Args) (any, error) { return py.Markup(py.Str(v)), nil }
	case "slice":
		return filterSlice
	case "sort":
		return filterSort
	case "string":
		return filterString
	case "sum":
		return filterSum
	case "title":
		return textFilter(name, titleWords)
	case "tojson":
		return filterToJSON
	case "trim":
		return filterTrim
	case "truncate":
		return filterTruncate
	case "unique":
		return filterUnique
	case "upper":
		return textFilter(name, py.Upper)
	case "urlencode":
		return filterURLEncode
	case "wordcount":
		return filterWordCount
	}
	return nil
}

// textFilter is a filter without arguments over the text of a value.
func textFilter(name string, f func(string) string) filterFunc {
	return func(_ *run, v any, a py.Args) (any, error) {
		if _, _, err := py.Bind(name, a); err != nil {
			return nil, err
		}
		s, err := py.Printed(v)
		if _, ok := v.(py.Markup); ok {
			return py.Markup(f(s)), err
		}
		return f(s), err
	}
}

func filterLength(_ *run, v any, a py.Args) (any, error) {
	if _, _, err := py.Bind("length", a); err != nil {
		return nil, err
	}
	return py.Len(v)
}

func filterDefault(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("default", a, "default_value?", "boolean?")
	if err != nil {
		return nil, err
	}
	var value any = ""
	if given[0] {
		value = p[0]
	}
	if _, undefined := v.(*py.Undefined); undefined || py.Truth(p[1]) && !py.Truth(v) {
		return value, nil
	}
	return v, nil
}

func filterString(_ *run, v any, _ py.Args) (any, error) {
	if m, ok := v.(py.Markup); ok {
		return m, nil
	}
	return py.Printed(v)
}

func filterEscape(_ *run, v any, _ py.Args) (any, error) {
	if m, ok := v.(py.Markup); ok {
		return m, nil
	}
	s, err := py.Printed(v)
	return py.Markup(py.Escape(s)), err
}

func filterAttr(_ *run, v any, a py.Args) (any, error) {
	p, _, err := py.Bind("attr", a, "name")
	if err != nil {
		return nil, err
	}
	name, _ := py.Text(p[0])
	if o, ok := v.(py.Object); ok {
		if out, ok := o.Attr(name); ok {
			return out, nil
		}
	}
	if _, isDict := v.(*py.Dict); isDict { // attributes only, no keys
		if f, ok := py.GetAttr(py.NewDict(0), name).(*py.Func); ok {
			return f, nil
		}
		return py.MissingIn(v, name), nil
	}
	return py.GetAttr(v, name), nil
}

// filterToJSON is json.dumps as transformers' chat templates have it.
func filterToJSON(_ *run, v any, a py.Args) (any, error) {
	p, _, err := py.Bind("tojson", a, "ensure_ascii?", "indent?", "separators?", "sort_keys?")
	if err != nil {
		return nil, err
	}
	o := py.JSON{ASCII: py.Truth(p[0]), Sorted: py.Truth(p[3]), Item: ", ", Key: ": "}
	if p[1] != nil {
		o.Indented, o.Item = true, ","
		n, isInt := py.Int(p[1])
		text, isText := py.Text(p[1])
		switch {
		case isInt && n <= 1000:
			text = ""
			for range n {
				text += " "
			}
		case !isText:
			return nil, fmt.Errorf("indent must be an integer up to 1000 or a string")
		}
		o.Indent = text
	}
	if p[2] != nil {
		pair, err := py.Iterate(p[2])
		if err != nil || len(pair) != 2 {
			return nil, fmt.Errorf("separators must be two strings")
		}
		var ok1, ok2 bool
		o.Item, ok1 = py.Text(pair[0])
		o.Key, ok2 = py.Text(pair[1])
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("separators must be two strings")
		}
	}
	return o.Dump(v)
}
