package jinja

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/text/ordered"
)

// known are cases in which this engine differs from Python's on purpose or without consequence: Jinja computes an
// expression of constants when it compiles, by other rules than when it runs.
func known(source string) bool {
	for _, s := range []string{"[1:]", "[::-1]", "*"} {
		if strings.Contains(source, s) {
			return true
		}
	}
	return false
}

// TestEqualToPython compares 4,000 expressions, tags and mixtures of white space with what Python's Jinja gives
// (tools/text/make_templates.py): the same text, or an error where Python has one.
func TestEqualToPython(t *testing.T) {
	f, err := os.Open("testdata/cases.json.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var data struct {
		Variables *ordered.Object
		Cases     [][3]string // source, ok or error or syntax, text
	}
	require.NoError(t, json.NewDecoder(z).Decode(&data))
	require.Greater(t, len(data.Cases), 3500)
	equal, different := 0, 0
	for _, c := range data.Cases {
		out, kind := "", "ok"
		tpl, err := Parse(c[0])
		if err == nil {
			out, err = tpl.Render(data.Variables, Options{})
		}
		if err != nil {
			out, kind = "", "error"
			var e *Error
			require.ErrorAs(t, err, &e, "%q", c[0])
			require.Positive(t, e.Line, "%q: %v", c[0], err)
		}
		switch want := c[1]; {
		case kind == "ok" && want == "ok" && out == c[2], kind == "error" && want != "ok":
			equal++
		case known(c[0]):
			different++
		default:
			t.Errorf("%q:\n got %s %q %v\nwant %s %q", c[0], kind, out, err, want, c[2])
		}
	}
	t.Logf("%d equal, %d different by constant folding", equal, different)
	require.LessOrEqual(t, different, 10)
}

func render(t *testing.T, source string, pairs ...any) (string, error) {
	t.Helper()
	tpl, err := Parse(source)
	require.NoError(t, err)
	now := time.Date(2026, 3, 7, 15, 4, 5, 6000, time.UTC)
	return tpl.Render(ordered.NewObject(pairs...), Options{Now: func() time.Time { return now }})
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"undefined", "a\n{{ x.y }}", "line 2: 'x' is undefined"},
		{"missing key", "{{ {'a': 1}.b.c }}", "line 1: 'dict object' has no attribute 'b'"},
		{"types", "{{ 'a' + 1 }}", `line 1: can only concatenate str (not "int") to str`},
		{"call", "\n\n{{ f() }}", "line 3: 'f' is undefined"},
		{"in a loop", "{% for x in [1] %}\n{{ x.upper() }}\n{% endfor %}", "line 2: 'int object' has no attribute 'upper'"},
		{"in a macro", "{% macro m() %}\n{{ 1 // 0 }}\n{% endmacro %}\n{{ m() }}", "line 2: integer division or modulo by zero"},
		{"mutation", "{{ [].append(1) }}", "line 1: access to attribute 'append' of 'list' object is unsafe."},
		{"own message", "{{ raise_exception('No!') }}", "No!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := render(t, c.source)
			require.EqualError(t, err, c.want)
		})
	}
	for _, c := range []struct{ name, source, want string }{
		{"unclosed", "{% if a %}\n{% for b in c %}", "line 2: Unexpected end of template. Jinja was looking for the following tags: 'endfor' or 'else'. The innermost block that needs to be closed is 'for'."},
		{"unknown tag", "\n{% nope %}", "line 2: Encountered unknown tag 'nope'."},
		{"unknown filter", "{{ a | nope }}", "line 1: No filter named 'nope'."},
		{"include", "{% include 'x' %}", "line 1: 'include' needs other templates, and a chat template has none"},
		{"break", "{% break %}", "line 1: 'break' outside of a loop"},
		{"bracket", "{{ (a] }}", "line 1: unexpected ']', expected ')'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.source)
			require.EqualError(t, err, c.want)
		})
	}
}

func TestRaised(t *testing.T) {
	_, err := render(t, "{% for m in [1] %}\n{{ raise_exception('Roles must alternate') }}{% endfor %}")
	var e *Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.Raised)
	require.Equal(t, 2, e.Line)
}

// A template comes with a checkpoint from anywhere: none of these may take long, take much memory or crash.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000)
	for name, source := range map[string]string{
		"endless recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
		"nested loops":      strings.Repeat("{% for a in range(90000) %}", 6) + "x" + strings.Repeat("{% endfor %}", 6),
		"doubling":          "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
		"doubling list":     "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"repeat":            "{{ 'x' * 999999999999 }}",
		"range":             "{{ range(99999999) }}",
		"replace":           "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
		"join":              "{{ ('a' * 100000)|join('b' * 100000) }}",
		"indent":            "{{ ('\n' * 1000000)|indent(10000) }}",
		"width":             "{{ '%999999999d' % 1 }}",
		"format":            "{{ '{:>999999999}'.format(1) }}",
		"center":            "{{ 'a'|center(999999999) }}",
		"deep expression":   "{{ " + deep + " }}",
		"deep tags":         strings.Repeat("{% if 1 %}", 5000) + strings.Repeat("{% endif %}", 5000),
		"deep value":        "{% set ns = namespace(v=[]) %}{% for i in range(3000) %}{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v }}",
		"deep json":         "{% set ns = namespace(v=[]) %}{% for i in range(3000) %}{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v|tojson }}",
		"power":             "{{ 9 ** 9 ** 9 }}",
		"slices":            "{{ [1]|slice(99999999)|list }}",
		"output":            "{% set s = 'x' * 1000000 %}{% for i in range(90000) %}{{ s }}{% endfor %}",
	} {
		t.Run(name, func(t *testing.T) {
			tpl, err := Parse(source)
			if err == nil {
				_, err = tpl.Render(&ordered.Object{}, Options{Steps: 2_000_000})
			}
			require.Error(t, err)
			var e *Error
			require.True(t, errors.As(err, &e))
		})
	}
}

func TestStrftime(t *testing.T) {
	out, err := render(t, "{{ strftime_now('%d %b %Y|%A %-d %B|%H:%M:%S|%I %p|%y %j %f|%e|%%|%F %T|%q') }}")
	require.NoError(t, err)
	require.Equal(t, "07 Mar 2026|Saturday 7 March|15:04:05|03 PM|26 066 000006| 7|%|2026-03-07 15:04:05|%q", out)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"{{ a|b(c, d=1)[1:2].e }}", "{% for a, b in c if d recursive %}{% else %}{% endfor %}", "{%- set x %}{% endset -%}", "{# #}{% raw %}{% endraw %}", "{{ '\\u00e9\\x41' ~ 1e5 }}"} {
		f.Add(s)
	}
	vars := ordered.NewObject("a", "x", "c", []any{int64(1), "b"}, "d", ordered.NewObject("k", 1.5))
	f.Fuzz(func(t *testing.T, source string) {
		tpl, err := Parse(source)
		if err != nil {
			return
		}
		out, err := tpl.Render(vars, Options{Steps: 20000})
		if err == nil && len(out) > 64<<20 {
			t.Fatal("too much output")
		}
	})
}
