package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// text returns the data of a template's top level, with · for each other node.
func text(t *testing.T, source string) string {
	t.Helper()
	nodes, err := Parse(source)
	require.NoError(t, err, "%q", source)
	out := ""
	for _, n := range nodes {
		if d, ok := n.(*Data); ok {
			out += d.Text
		} else {
			out += "·"
		}
	}
	return out
}

func TestWhiteSpace(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"a\n", "a"},
		{"a\n\n", "a\n"},
		{"a\r\nb\rc", "a\nb\nc"},
		{"  {% set x = 1 %}\nb", "·b"},
		{"a  {% set x = 1 %}  \nb", "a  ·  \nb"},
		{"a\n  {%+ set x = 1 %}\nb", "a\n  ·b"},
		{"a\n\n {%- set x = 1 -%} \n b", "a·b"},
		{" {{ x }} \n b", " · \n b"},
		{" {{- x -}} \n b", "·b"},
		{"a\n  {# c #}\nb", "a\nb"},
		{"a {#- c -#} b", "ab"},
		{"{% raw %}{{ a }}{% endraw %}\nb", "{{ a }}b"},
		{"{% raw -%}  {% if %} {%- endraw -%} b", "{% if %}b"},
		{"{ % {", "{ % {"},
	} {
		require.Equal(t, c.want, text(t, c.source), "%q", c.source)
	}
}

func TestLines(t *testing.T) {
	nodes, err := Parse("a\n{% if b %}\n{#\n#}{{\n c.d }}\n{%- endif %}\n\n{{ e }}")
	require.NoError(t, err)
	found := map[string]int{}
	Walk(nodes, false, func(n Node, _ bool) {
		if name, ok := n.(*Name); ok {
			found[name.Name] = n.At()
		}
	})
	require.Equal(t, map[string]int{"b": 2, "c": 5, "e": 8}, found)
}

func TestUses(t *testing.T) {
	nodes, err := Parse("{% for a in b %}{{ caller(a)|f(kwargs.x) }}{% endfor %}{% set varargs = 1 %}")
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"caller": true, "kwargs": true}, Uses(nodes, "caller", "kwargs", "varargs"))
}
