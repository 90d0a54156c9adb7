package py

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// textMethodOf returns a method of str, nil if there is none of the name.
func textMethodOf(name string) textFunc {
	switch name {
	case "upper":
		return plain(Upper)
	case "lower":
		return plain(Lower)
	case "casefold":
		return plain(Lower)
	case "capitalize":
		return plain(Capitalize)
	case "title":
		return plain(title)
	case "swapcase":
		return plain(swapCase)
	case "strip":
		return stripper("")
	case "lstrip":
		return stripper("l")
	case "rstrip":
		return stripper("r")
	case "split":
		return splitter(false)
	case "rsplit":
		return splitter(true)
	case "splitlines":
		return textSplitLines
	case "partition":
		return partition(strings.Index)
	case "rpartition":
		return partition(strings.LastIndex)
	case "startswith":
		return affix("startswith", strings.HasPrefix)
	case "endswith":
		return affix("endswith", strings.HasSuffix)
	case "removeprefix":
		return remove("removeprefix", strings.TrimPrefix)
	case "removesuffix":
		return remove("removesuffix", strings.TrimSuffix)
	case "replace":
		return textReplace
	case "join":
		return textJoin
	case "find":
		return finder("find", strings.Index, false)
	case "rfind":
		return finder("rfind", strings.LastIndex, false)
	case "index":
		return finder("index", strings.Index, true)
	case "rindex":
		return finder("rindex", strings.LastIndex, true)
	case "count":
		return textCount
	case "ljust":
		return pad('<')
	case "rjust":
		return pad('>')
	case "center":
		return pad('^')
	case "zfill":
		return zeroFill
	case "expandtabs":
		return expandTabs
	case "format":
		return formatString
	case "isdigit":
		return all(func(r rune) bool { return unicode.Is(unicode.Nd, r) || unicode.Is(unicode.No, r) && !isFraction(r) })
	case "isdecimal":
		return all(func(r rune) bool { return unicode.Is(unicode.Nd, r) })
	case "isnumeric":
		return all(func(r rune) bool { return unicode.Is(unicode.N, r) })
	case "isalpha":
		return all(unicode.IsLetter)
	case "isalnum":
		return all(func(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.N, r) })
	case "isspace":
		return all(Space)
	case "isprintable":
		return func(s string, _ Args) (any, error) { return printableText(s), nil }
	case "isascii":
		return func(s string, _ Args) (any, error) { return isASCII(s), nil }
	case "isupper":
		return cases(unicode.IsUpper, unicode.IsLower)
	case "islower":
		return cases(unicode.IsLower, unicode.IsUpper)
	case "format_map":
		return formatMap
	case "istitle":
		return func(s string, _ Args) (any, error) {
			return s != "" && title(s) == s && strings.ContainsFunc(s, isCased), nil
		}
	}
	return nil
}

func formatMap(s string, a Args) (any, error) {
	if len(a.Pos) != 1 {
		return nil, errors.New("format_map() takes exactly one argument")
	}
	d, ok := a.Pos[0].(*Dict)
	if !ok {
		return nil, errors.New("format_map() needs a mapping")
	}
	var kw []Kw
	for i, k := range d.keys {
		if name, ok := Text(k); ok {
			kw = append(kw, Kw{name, d.values[i]})
		}
	}
	return formatString(s, Args{Kw: kw})
}

type textFunc = func(s string, a Args) (any, error)

func plain(f func(string) string) textFunc {
	return func(s string, a Args) (any, error) {
		if len(a.Pos)+len(a.Kw) > 0 {
			return nil, errors.New("the method takes no arguments")
		}
		return f(s), nil
	}
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func stripper(side string) textFunc {
	return func(s string, a Args) (any, error) {
		v, _, err := Bind(side+"strip", a, "chars?")
		if err != nil {
			return nil, err
		}
		return Strip(s, v[0], side)
	}
}

func splitter(right bool) textFunc {
	return func(s string, a Args) (any, error) {
		v, given, err := Bind("split", a, "sep?", "maxsplit?")
		if err != nil {
			return nil, err
		}
		limit, ok := int64(-1), true
		if given[1] {
			if limit, ok = Int(v[1]); !ok {
				return nil, fmt.Errorf("'%s' object cannot be interpreted as an integer", TypeName(v[1]))
			}
		}
		if v[0] == nil {
			return &List{splitSpace(s, limit, right)}, nil
		}
		sep, ok := Text(v[0])
		if !ok {
			return nil, fmt.Errorf("must be str or None, not %s", TypeName(v[0]))
		}
		if sep == "" {
			return nil, errors.New("empty separator")
		}
		return &List{splitAt(s, sep, limit, right)}, nil
	}
}

func textSplitLines(s string, a Args) (any, error) {
	v, _, err := Bind("splitlines", a, "keepends?")
	if err != nil {
		return nil, err
	}
	return &List{splitLines(s, Truth(v[0]))}, nil
}

func oneText(name string, a Args) (string, error) {
	if len(a.Pos) != 1 || len(a.Kw) > 0 {
		return "", fmt.Errorf("%s() takes exactly one argument", name)
	}
	s, ok := Text(a.Pos[0])
	if !ok {
		return "", fmt.Errorf("%s() argument must be str, not %s", name, TypeName(a.Pos[0]))
	}
	return s, nil
}

func partition(find func(s, sep string) int) textFunc {
	return func(s string, a Args) (any, error) {
		sep, err := oneText("partition", a)
		if err == nil && sep == "" {
			err = errors.New("empty separator")
		}
		if err != nil {
			return nil, err
		}
		if at := find(s, sep); at >= 0 {
			return &Tuple{Items: []any{s[:at], sep, s[at+len(sep):]}}, nil
		}
		return &Tuple{Items: []any{s, "", ""}}, nil
	}
}

func affix(name string, has func(s, affix string) bool) textFunc {
	return func(s string, a Args) (any, error) {
		if len(a.Pos) == 0 || len(a.Pos) > 3 || len(a.Kw) > 0 {
			return nil, fmt.Errorf("%s() takes 1 to 3 arguments", name)
		}
		s, _, err := window(s, a.Pos[1:])
		if err != nil {
			return nil, err
		}
		choices := []any{a.Pos[0]}
		if t, ok := a.Pos[0].(*Tuple); ok {
			choices = t.Items
		}
		for _, c := range choices {
			text, ok := Text(c)
			if !ok {
				return nil, fmt.Errorf("%s first arg must be str or a tuple of str, not %s", name, TypeName(c))
			}
			if has(s, text) {
				return true, nil
			}
		}
		return false, nil
	}
}

// window cuts s to the code points from start to end, and returns how many lie before it.
func window(s string, bounds []any) (string, int64, error) {
	if len(bounds) == 0 {
		return s, 0, nil
	}
	sl := Slice{Start: bounds[0]}
	if len(bounds) > 1 {
		sl.Stop = bounds[1]
	}
	v, err := slice(s, sl)
	if err != nil {
		return "", 0, err
	}
	start, _ := Int(sl.Start)
	if start < 0 {
		start = max(start+runeCount(s), 0)
	}
	return v.(string), start, nil
}

func remove(name string, trim func(s, affix string) string) textFunc {
	return func(s string, a Args) (any, error) {
		affix, err := oneText(name, a)
		return trim(s, affix), err
	}
}

func textReplace(s string, a Args) (any, error) {
	v, given, err := Bind("replace", a, "old", "new", "count?")
	if err != nil {
		return nil, err
	}
	from, ok1 := Text(v[0])
	to, ok2 := Text(v[1])
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("replace() arguments must be str, not %s and %s", TypeName(v[0]), TypeName(v[1]))
	}
	count := int64(-1)
	if given[2] {
		var ok bool
		if count, ok = Int(v[2]); !ok {
			return nil, fmt.Errorf("'%s' object cannot be interpreted as an integer", TypeName(v[2]))
		}
	}
	return Replace(s, from, to, count)
}

func textJoin(s string, a Args) (any, error) {
	if len(a.Pos) != 1 || len(a.Kw) > 0 {
		return nil, errors.New("join() takes exactly one argument")
	}
	items, err := Iterate(a.Pos[0])
	if err != nil {
		return nil, errors.New("can only join an iterable")
	}
	return Join(s, items)
}

func finder(name string, find func(s, sub string) int, must bool) textFunc {
	return func(s string, a Args) (any, error) {
		if len(a.Pos) == 0 || len(a.Pos) > 3 {
			return nil, fmt.Errorf("%s() takes 1 to 3 arguments", name)
		}
		sub, err := oneText(name, Args{Pos: a.Pos[:1], Kw: a.Kw})
		if err != nil {
			return nil, err
		}
		part, before, err := window(s, a.Pos[1:])
		if err != nil {
			return nil, err
		}
		at := find(part, sub)
		if at < 0 {
			if must {
				return nil, errors.New("substring not found")
			}
			return int64(-1), nil
		}
		return before + runeCount(part[:at]), nil
	}
}

func textCount(s string, a Args) (any, error) {
	if len(a.Pos) == 0 || len(a.Pos) > 3 {
		return nil, errors.New("count() takes 1 to 3 arguments")
	}
	sub, err := oneText("count", Args{Pos: a.Pos[:1], Kw: a.Kw})
	if err != nil {
		return nil, err
	}
	part, _, err := window(s, a.Pos[1:])
	return int64(strings.Count(part, sub)), err
}
