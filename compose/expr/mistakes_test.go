package expr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMistakes: what other languages write, and what is wrong in other ways, is said with what to write instead.
func TestMistakes(t *testing.T) {
	for src, want := range map[string]string{
		"heads > 4 and tie":              "write `heads > 4 && tie`",
		"not tie or heads = 4":           "write `!tie || heads == 4`",
		"not heads == 4 and tie":         "write `!(heads == 4) && tie`",
		"heads not in [1, 2]":            "write `!(heads in [1, 2])`",
		"8 if tie else heads * 2":        "write `tie ? 8 : heads * 2`",
		"min(8 if tie else heads, 2)":    "write `min(tie ? 8 : heads, 2)`",
		"heads = 4":                      "write `heads == 4`",
		"tie | heads > 4":                "write `tie || heads > 4`",
		"heads ** 2":                     "write `pow(heads, 2)`",
		"(heads + 1) ** 2":               "write `pow(base, exponent)`",
		"heads // 2":                     "write `heads / 2`",
		"tie is True":                    "write `tie == true`",
		"True":                           "did you mean true?",
		"None":                           "write `null`; whether config.json has a key: `config.has('key')`",
		"len(heads)":                     "write size(list)",
		"math.sqrt(heads)":               "functions stand alone: `sqrt(x)`, `pow(x, y)`, `floor(x)`",
		"heads *":                        "write what `*` is applied to, or leave it out",
		"(heads + 1":                     "write `)` where it ends",
		"heads + 1)":                     "remove it, or open it before",
		"min(heads, [1, 2)":              "write `]`",
		"kind == 'x":                     `close it; a quote inside the text is of the other kind: "it's"`,
		"heads 4":                        "an operator is missing between `heads` and `4`",
		"heads + * 4":                    "a value is missing between `+` and `*`",
		"kind == 4":                      "the two sides of == want one type: a text stands in quotes, a number in none",
		"heads && tie":                   condition,
		"min(kind, 4)":                   "it is called min(int, int), or min(float, float), or min(int, float), or min(float, int)",
		"config.int('n', 1.5)":           "it is called config.int(string), or config.int(string, int)",
		"heads ? 1 : 2":                  "what stands before ? is a condition: compare it, as in `x > 0 ? a : b`",
		"hiden":                          "names here: config, eps, given, heads, i, kind, sizes, tie and 3 more",
		"w.size":                         "its fields: axis, bias, bits, bytes, dtype, group, inputs, layout and 3 more",
		"kind == 'a // b' ? heads : 0.0": "the two sides of ? : want one type: write 0.0 for 0",
	} {
		e, err := New(nil)
		require.NoError(t, err)
		_, got := e.Check(src, plainScope())
		if got == nil {
			require.Equal(t, want, "", src)
		}
		require.Equal(t, want, got.Help, "%s: %s", src, got.Message)
		require.LessOrEqual(t, got.Offset+got.Length, len([]rune(src)), src)
	}
}

// FuzzMistakes: whatever the text, checking it ends, and what is found stands in it.
func FuzzMistakes(f *testing.F) {
	for _, src := range append(plain, "a if b else c", "not (a and b) or c", "x ** y // z", "f(1, [2, 'a", "}{", "is", "else if", "not", "a not in", "'") {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		e, err := New(nil)
		require.NoError(t, err)
		of, bad := e.Check(src, plainScope())
		if bad == nil {
			require.NotNil(t, of, "%q", src)
			return
		}
		require.NotEmpty(t, bad.Message, "%q", src)
		require.GreaterOrEqual(t, bad.Offset, 0, "%q", src)
		require.LessOrEqual(t, bad.Offset+bad.Length, len([]rune(src)), "%q", src)
	})
}
