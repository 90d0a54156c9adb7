package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/text/jinja/py"
	"github.com/graphrun/graphrun/text/ucd"
)

func filterReplace(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("replace", a, "old", "new", "count?")
	if err != nil {
		return nil, err
	}
	count := int64(-1)
	if given[2] && p[2] != nil {
		var ok bool
		if count, ok = py.Int(p[2]); !ok {
			return nil, fmt.Errorf("'%s' object cannot be interpreted as an integer", py.TypeName(p[2]))
		}
	}
	return py.Replace(py.Str(v), py.Str(p[0]), py.Str(p[1]), count)
}

func filterTrim(_ *run, v any, a py.Args) (any, error) {
	p, _, err := py.Bind("trim", a, "chars?")
	if err != nil {
		return nil, err
	}
	s, err := py.Strip(py.Str(v), p[0], "")
	if _, ok := v.(py.Markup); ok {
		return py.Markup(s), err
	}
	return s, err
}

// titleWords begins every word with a capital; words end at white space and at - ( { [ <.
func titleWords(s string) string {
	var b strings.Builder
	start := true
	for _, r := range s {
		if py.Space(r) || strings.ContainsRune("-({[<", r) {
			start = true
			b.WriteRune(r)
			continue
		}
		if start {
			b.WriteString(py.Upper(string(r)))
		} else {
			b.Write(ucd.AppendLower(nil, r))
		}
		start = false
	}
	return b.String()
}

func filterCenter(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("center", a, "width?")
	if err != nil {
		return nil, err
	}
	width := int64(80)
	if given[0] {
		width, _ = py.Int(p[0])
	}
	return py.Center(py.Str(v), width, ' ')
}

// filterIndent indents lines but the first one and empty ones.
func filterIndent(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("indent", a, "width?", "first?", "blank?")
	if err != nil {
		return nil, err
	}
	pad := "    "
	if given[0] {
		if text, ok := py.Text(p[0]); ok {
			pad = text
		} else if n, ok := py.Int(p[0]); ok && n <= 10000 {
			pad = strings.Repeat(" ", int(max(n, 0)))
		} else {
			return nil, errors.New("the width of an indentation must be an integer up to 10000 or a string")
		}
	}
	s, err := needText("indent", v)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(s, "\n") + 1; len(pad) > 0 && n > (py.MaxSize-len(s))/len(pad) {
		return nil, errors.New("the indented text is too large")
	}
	lines := splitLines(s + "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" || py.Truth(p[2]) {
			lines[i] = pad + lines[i]
		}
	}
	s = strings.Join(lines, "\n")
	if py.Truth(p[1]) {
		s = pad + s
	}
	return s, nil
}

func splitLines(s string) []string {
	f, _ := py.GetAttr(s, "splitlines").(*py.Func)
	v, _ := f.Call(py.Args{})
	items, _ := py.Iterate(v)
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i], _ = py.Text(item)
	}
	return lines
}

// needText is for filters that take nothing but strings.
func needText(filter string, v any) (string, error) {
	if s, ok := py.Text(v); ok {
		return s, nil
	}
	if u, ok := v.(*py.Undefined); ok {
		return "", errors.New(u.Message)
	}
	return "", fmt.Errorf("the filter '%s' needs a string, not '%s'", filter, py.TypeName(v))
}

func filterTruncate(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("truncate", a, "length?", "killwords?", "end?", "leeway?")
	if err != nil {
		return nil, err
	}
	length, leeway, end := int64(255), int64(5), "..."
	if given[0] {
		length, _ = py.Int(p[0])
	}
	if given[2] {
		end = py.Str(p[2])
	}
	if given[3] && p[3] != nil {
		leeway, _ = py.Int(p[3])
	}
	if n, err := py.Len(v); err == nil && n <= length+leeway {
		return v, nil
	}
	s, err := needText("truncate", v)
	if err != nil {
		return nil, err
	}
	tail := int64(utf8.RuneCountInString(end))
	if length < tail {
		return nil, fmt.Errorf("expected length >= %d, got %d", tail, length)
	}
	if int64(utf8.RuneCountInString(s)) <= length+leeway {
		return s, nil
	}
	cut := string([]rune(s)[:length-tail])
	if !py.Truth(p[1]) {
		if at := strings.LastIndexByte(cut, ' '); at >= 0 {
			cut = cut[:at]
		}
	}
	return cut + end, nil
}

func filterFormat(_ *run, v any, a py.Args) (any, error) {
	if len(a.Pos) > 0 && len(a.Kw) > 0 {
		return nil, errors.New("can't handle positional and keyword arguments at the same time")
	}
	var args any = &py.Tuple{Items: a.Pos}
	if len(a.Kw) > 0 {
		d := py.NewDict(len(a.Kw))
		for _, kw := range a.Kw {
			if err := d.Set(kw.Name, kw.Value); err != nil {
				return nil, err
			}
		}
		args = d
	}
	return py.Binary("%", py.Str(v), args)
}

func filterWordCount(_ *run, v any, _ py.Args) (any, error) {
	n, inside := int64(0), false
	for _, r := range py.Str(v) {
		word := ucd.Word(r)
		if word && !inside {
			n++
		}
		inside = word
	}
	return n, nil
}

// quoteURL escapes all but letters, digits and _.-~/ as urllib's quote does.
func quoteURL(s, safe string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-~"+safe, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func filterURLEncode(_ *run, v any, _ py.Args) (any, error) {
	d, isDict := v.(*py.Dict)
	list, isList := v.(*py.List)
	if !isDict && !isList {
		return quoteURL(py.Str(v), "/"), nil
	}
	var pairs []any
	if isDict {
		for _, k := range d.Keys() {
			item, _ := d.Get(k)
			pairs = append(pairs, &py.Tuple{Items: []any{k, item}})
		}
	} else {
		pairs = list.Items
	}
	var parts []string
	for _, pair := range pairs {
		kv, err := py.Iterate(pair)
		if err != nil || len(kv) != 2 {
			return nil, errors.New("urlencode needs pairs of names and values")
		}
		parts = append(parts, strings.ReplaceAll(quoteURL(py.Str(kv[0]), " "), " ", "+")+"="+strings.ReplaceAll(quoteURL(py.Str(kv[1]), " "), " ", "+"))
	}
	return strings.Join(parts, "&"), nil
}
