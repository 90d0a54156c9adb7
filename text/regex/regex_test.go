package regex

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// split returns the matches and what lies between them, and the latter alone.
func split(t testing.TB, re *Regexp, text string) (parts, between []string) {
	t.Helper()
	last := 0
	err := re.Each(text, &Budget{Steps: 1 << 26}, func(start, end int) {
		if last != start {
			parts = append(parts, text[last:start])
			between = append(between, text[last:start])
		}
		if start != end {
			parts = append(parts, text[start:end])
		}
		last = end
	})
	require.NoError(t, err)
	if last != len(text) {
		parts = append(parts, text[last:])
		between = append(between, text[last:])
	}
	return parts, between
}

// TestEqualToPython compares 6,000 splits, at the patterns of well-known tokenizers and at random ones, with what
// Python's tokenizers gives (tools/text/make_regex.py).
func TestEqualToPython(t *testing.T) {
	f, err := os.Open("testdata/cases.json.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var cases [][4]json.RawMessage
	require.NoError(t, json.NewDecoder(z).Decode(&cases))
	require.GreaterOrEqual(t, len(cases), 6000)
	compiled := map[string]*Regexp{}
	for _, c := range cases {
		var pattern, text string
		var parts, between []string
		for i, to := range []any{&pattern, &text, &parts, &between} {
			require.NoError(t, json.Unmarshal(c[i], to))
		}
		re := compiled[pattern]
		if re == nil {
			re, err = Compile(pattern)
			require.NoError(t, err)
			compiled[pattern] = re
		}
		gotParts, gotBetween := split(t, re, text)
		if !slices.Equal(gotParts, parts) || !slices.Equal(gotBetween, between) {
			t.Errorf("%q on %q:\n got %q without matches %q\nwant %q without matches %q", pattern, text, gotParts, gotBetween, parts, between)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{`(ab`, `offset 0: the group is not closed`},
		{`ab)`, `offset 2: unmatched )`},
		{`[ab`, `offset 0: the class is not closed`},
		{`a|*`, `offset 2: a quantifier without anything to repeat`},
		{`(a)\1`, `backreferences are not supported`},
		{`\p{Nope}`, `unknown property \p{Nope}`},
		{`a{3,2}`, `the first number is the greater`},
		{`a{9999}`, `more than 1000 repetitions`},
		{`(?:(?:(?:a{1,900}b){1,900}c){1,900}d){1,900}`, `more than 20000 instructions`},
		{`(?<=a*)b`, `a lookbehind must have a length of at most 255`},
		{`(?R)`, `a group that starts with (?R is not supported`},
		{`\xFF`, `is a byte, not a code point`},
		{`[z-a]`, `the range z-a is empty`},
		{`[[:alpha:]]`, `not supported`},
		{`\g<1>`, `subroutine calls are not supported`},
		{"a\xff", `not valid UTF-8`},
		{strings.Repeat("(", 1000), `nested deeper than 200`},
	} {
		_, err := Compile(c.pattern)
		var e *Error
		require.ErrorAs(t, err, &e, c.pattern)
		require.ErrorContains(t, err, c.want)
	}
}

// A pattern that backtracks without end stops at its budget; one that only looks as if it would does not.
func TestBudget(t *testing.T) {
	for _, c := range []struct{ name, pattern, text string }{
		{"nested loops", `(a*)*b`, strings.Repeat("a", 60)},
		{"alternatives", `(?:a|aa)+$b`, strings.Repeat("a", 100)},
		{"lookahead for all digits", `\d{1,3}(?=(?:\d{3})*\b)`, strings.Repeat("1", 1<<20)},
	} {
		t.Run(c.name, func(t *testing.T) {
			re, err := Compile(c.pattern)
			require.NoError(t, err)
			budget := &Budget{Steps: 1 << 22}
			require.ErrorIs(t, re.Each(c.text, budget, func(int, int) {}), ErrBudget)
			require.Zero(t, budget.Steps)
		})
	}
	const gpt = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	re, err := Compile(gpt)
	require.NoError(t, err)
	for _, unit := range []string{"a", " ", "\n", "1", "!", "'", " \n", "漢", "é", "\t ", "a ", "\u200d"} {
		text := strings.Repeat(unit, 1<<19/len(unit))
		require.NoError(t, re.Each(text, &Budget{Steps: 64 * int64(len(text))}, func(int, int) {}), "%q", unit)
		require.NoError(t, re.Each(text+"x", &Budget{Steps: 64 * int64(len(text))}, func(int, int) {}), "%q", unit)
	}
}

func FuzzCompile(f *testing.F) {
	for _, p := range []string{`(?i:'s)|\p{L}+(?=a)`, `[^\s&&[a-z]]{2,3}+?`, `(?<!a|bc)\b\x{41}`, `(?>a*?|b)++$`} {
		f.Add(p, "a b's")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := Compile(pattern)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		last := 0
		_ = re.Each(text, &Budget{Steps: 1 << 16}, func(start, end int) {
			if start < last || end < start || end > len(text) {
				t.Fatalf("%q on %q: match %d:%d behind %d", pattern, text, start, end, last)
			}
			last = end
		})
	})
}

func BenchmarkSplit(b *testing.B) {
	const pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	re, err := Compile(pattern)
	require.NoError(b, err)
	text := strings.Repeat("The quick brown fox can't jump over 12345 lazy dogs, can it?\n\n  Well: über 漢字 maybe.\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_ = re.Each(text, &Budget{Steps: 1 << 30}, func(int, int) {})
	}
}
