package cursor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTyping(t *testing.T) {
	for text, want := range map[string]struct {
		open    string
		quote   rune
		comment bool
	}{
		"a: {b: [c":         {"{[", 0, false},
		"a: {b: 'it''s":     {"{", '\'', false},
		"a: {b: \"x\\\"":    {"{", '"', false},
		"a: it's {":         {"", 0, false},
		"a: types[i":        {"", 0, false},
		"a: {b: [c]}":       {"", 0, false},
		"a: b # it's":       {"", 0, true},
		"a: b # c\nd: [":    {"[", 0, false},
		"a: b#c [":          {"", 0, false},
		"- {a: 'x', b: {c}": {"{", 0, false},
		"'k, v': ":          {"", 0, false},
		"]":                 {"", 0, false},
	} {
		open, quote, comment := unclosed(text)
		require.Equal(t, want.open, open, text)
		require.Equal(t, want.quote, quote, text)
		require.Equal(t, want.comment, comment, text)
	}
	require.Empty(t, Typing("x.yaml", "a: b", 7, 1))
	require.Empty(t, Typing("x.yaml", "a: b", 0, 1))
	require.NotEmpty(t, Typing("x.yaml", "a: b", 1, 400))
}
