package diag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAmong: the word that was meant, else those that there are, the near ones first.
func TestAmong(t *testing.T) {
	many := []string{"a", "b", "c", "d", "e", "f", "g", "h", "hidden", "i", "layers"}
	for _, c := range []struct {
		word  string
		names []string
		want  string
	}{
		{"hiden", many, "did you mean hidden?"},
		{"hidden_size", many, "names: hidden, a, b, c, d, e, f, g and 3 more"},
		{"layer_count", many, "names: layers, a, b, c, d, e, f, g and 3 more"},
		{"zz", []string{"b", "a", "b"}, "names: a, b"},
		{"zz", []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, "names: 1, 2, 3, 4, 5, 6, 7, 8, 9"}, // one more is no longer than saying so
		{"zz", nil, ""},
	} {
		require.Equal(t, c.want, Among(c.word, c.names, "names"))
	}
}
