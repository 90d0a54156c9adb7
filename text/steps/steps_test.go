package steps

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/text/ordered"
	"github.com/graphrun/graphrun/text/regex"
)

func parse(t testing.TB, source string) any {
	t.Helper()
	v, err := ordered.Parse([]byte(source))
	require.NoError(t, err)
	return v
}

func budget() *regex.Budget { return &regex.Budget{Steps: 1 << 20} }

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`{"type": "Precompiled"}`, "the normalizer Precompiled: not supported"},
		{`{"type": "Nope"}`, "the normalizer Nope: unknown; known are NFC, "},
		{`{"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"Regex": "("}, "content": ""}]}`, "the normalizer Replace: pattern"},
		{`{"type": "Replace", "pattern": {"String": ""}, "content": "x"}`, "matches everywhere"},
		{`[]`, "the normalizer must be an object, not an array"},
		{`{"type": 1}`, `"type" must be a string`},
		{`{"type": "Strip", "strip_left": "yes"}`, `"strip_left" must be a boolean`},
	} {
		_, err := NewNormalizer(parse(t, c.source))
		require.ErrorContains(t, err, c.want, c.source)
	}
	for _, c := range []struct{ source, want string }{
		{`{"type": "UnicodeScripts"}`, "the pre_tokenizer UnicodeScripts: unknown; known are ByteLevel, "},
		{`{"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Nope"}`, `unknown behavior "Nope"`},
		{`{"type": "Metaspace", "replacement": "ab"}`, `"replacement" must be one character`},
		{`{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "add_prefix_space": false}`, "add_prefix_space is false"},
		{`{"type": "FixedLength", "length": 0}`, "at least 1"},
	} {
		_, err := NewPreTokenizer(parse(t, c.source))
		require.ErrorContains(t, err, c.want, c.source)
	}
	for _, c := range []struct{ source, want string }{
		{`{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}], "special_tokens": {}}`, `"<s>" is not among the special_tokens`},
		{`{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}], "special_tokens": {}}`, "asks for a second text"},
		{`{"type": "RobertaProcessing", "cls": ["<s>", -1], "sep": ["</s>", 2]}`, `"cls" must be a token and its id`},
		{`{"type": "Nope"}`, "unknown; known are TemplateProcessing"},
	} {
		_, err := NewPostProcessor(parse(t, c.source))
		require.ErrorContains(t, err, c.want, c.source)
	}
	for _, c := range []struct{ source, want string }{
		{`{"type": "WordPiece"}`, "the decoder WordPiece: not supported"},
		{`{"type": "Nope"}`, "unknown; known are ByteLevel, "},
		{`{"type": "Strip", "content": " ", "start": -1}`, "must lie between 0 and"},
	} {
		_, err := NewDecoder(parse(t, c.source))
		require.ErrorContains(t, err, c.want, c.source)
	}
}

// Templates that multiply must not grow without end.
func TestSequenceBounds(t *testing.T) {
	twice := `{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}], "special_tokens": {}}`
	_, err := NewPostProcessor(parse(t, `{"type": "Sequence", "processors": [`+strings.Repeat(twice+",", 39)+twice+`]}`))
	require.ErrorContains(t, err, "grows beyond")
	_, err = NewNormalizer(parse(t, `{"type": "Sequence", "normalizers": [`+strings.Repeat(`{"type": "NFC"},`, 999)+`{"type": "NFC"}]}`))
	require.ErrorContains(t, err, "more than 256 steps")
}

func TestNormalizeNewerThanPython(t *testing.T) {
	n, err := NewNormalizer(parse(t, `{"type": "NFKC"}`))
	require.NoError(t, err)
	// U+32FF and U+A7F2 decompose in the Unicode of x/text, but not in the one of Python's tokenizers.
	got, _, err := n.Apply("㋿ ﬁ e\u0301 \uA7F2\u0301", budget())
	require.NoError(t, err)
	require.Equal(t, "㋿ fi é \uA7F2\u0301", got)
}

func TestFirst(t *testing.T) {
	n, err := NewNormalizer(parse(t, `{"type": "Strip", "strip_left": true, "strip_right": false}`))
	require.NoError(t, err)
	_, first, _ := n.Apply(" a", budget())
	require.False(t, first)
	_, first, _ = n.Apply("a ", budget())
	require.True(t, first)
}

func decodeAll(t *testing.T, source string, tokens ...string) (whole string, parts []string) {
	t.Helper()
	d, err := NewDecoder(parse(t, source))
	require.NoError(t, err)
	s := d.NewStream()
	for _, token := range tokens {
		parts = append(parts, s.Add(token))
	}
	parts = append(parts, s.Flush())
	return strings.Join(parts, ""), parts
}

func TestDecoders(t *testing.T) {
	for _, c := range []struct {
		name, source string
		tokens       []string
		want         string
	}{
		{"fused strip", `{"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 2, "stop": 1}]}`, []string{" ", " ", " ", "a ", " ", " "}, " a  "},
		{"strip of each", `{"type": "Strip", "content": " ", "start": 1, "stop": 1}`, []string{" a ", "  "}, "a"},
		{"fused replace over tokens", `{"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "ab"}, "content": "X"}]}`, []string{"a", "b", "a"}, "Xa"},
		{"replace of each", `{"type": "Replace", "pattern": {"Regex": "a+"}, "content": "X"}`, []string{"aa", "ba"}, "XbX"},
		{"bytes behind fuse", `{"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]}`, []string{"<0x", "41>"}, "A"},
		{"a byte alone", `{"type": "ByteFallback"}`, []string{"a", "<0xC3>", "b"}, "a\uFFFDb"},
		{"word ends", `{"type": "BPEDecoder", "suffix": "</w>"}`, []string{"a</w>", "b", "c</w>"}, "a bc"},
		{"metaspace", `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}`, []string{"▁a", "▁b"}, "a b"},
		{"metaspace behind fuse", `{"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Metaspace", "replacement": "▁"}]}`, []string{"▁a", "▁b"}, "ab"},
		{"none", `null`, []string{"a", "b"}, "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := decodeAll(t, c.source, c.tokens...)
			require.Equal(t, c.want, got)
		})
	}
}

// Each part of the stream is whole characters; what is invalid appears as soon as it is certain.
func TestByteLevelStream(t *testing.T) {
	// The bytes of é, a lone lead byte, and 😀 in pieces.
	_, parts := decodeAll(t, `{"type": "ByteLevel"}`, "Ã", "©x", "Ã", "y", "ðŁ", "ĺ", "Ģ", "ð")
	require.Equal(t, []string{"", "éx", "", "\uFFFDy", "", "", "😀", "", "\uFFFD"}, parts)
}

func TestToValid(t *testing.T) {
	require.Equal(t, "a\uFFFDb", ToValid("a\xffb"))
	require.Equal(t, "\uFFFD\uFFFD", ToValid("\xf0\x9f\xc3"), "one for each maximal part")
	require.Equal(t, "\uFFFD\uFFFD\uFFFD", ToValid("\xed\xa0\x80"), "surrogates")
	require.Equal(t, "é", ToValid("é"))
}
