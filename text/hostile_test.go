package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Long texts of one thing are the worst for splitting and merging; none may take more than its length times its logarithm.
func TestLongTexts(t *testing.T) {
	const size = 1 << 15
	for _, kind := range []string{"gpt2", "gpt4o", "llama2", "gemma", "deepseek", "word_ends"} {
		var f fixture
		readGz(t, "testdata/kinds/"+kind+".json.gz", &f)
		tok := f.build(t)
		for _, unit := range []string{"a", " ", "\n", "1", "é", "漢", "a ", " \n", "<", "\u0301", "\xff"} {
			ids, err := tok.Encode(strings.Repeat(unit, size/len(unit)), true)
			require.NoError(t, err, "%s of %q", kind, unit)
			_ = tok.Decode(ids, false)
		}
	}
}

// A pattern that a text can make run away ends in an error.
func TestRunawayPattern(t *testing.T) {
	tok, err := FromJSON([]byte(`{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a*)*b"}, "behavior": "Isolated", "invert": false},
		"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}`))
	require.NoError(t, err)
	_, err = tok.Encode(strings.Repeat("a", 50), false)
	require.ErrorContains(t, err, "too many steps")
}

func TestFromJSONErrors(t *testing.T) {
	model := func(s string) string { return `{"model": {"type": "BPE", ` + s + `}}` }
	for _, c := range []struct{ source, want string }{
		{``, "line 1, column 1: expected an object"},
		{`{}`, `there is no "model"`},
		{`{"version": "2.0", "model": {}}`, "unknown version 2.0"},
		{`{"model": {"type": "WordPiece", "vocab": {}}}`, `its type is "WordPiece"; only BPE is supported`},
		{`{"model": {"type": "Unigram", "vocab": [["a", 0.5]]}}`, `its type is "Unigram"`},
		{model(`"vocab": {}`), "vocab or merges are missing"},
		{model(`"vocab": {"a": -1}, "merges": []`), "out of range"},
		{model(`"vocab": {"a": 2000000000}, "merges": []`), "out of range"},
		{model(`"vocab": {"a": 99999999999}, "merges": []`), "expected a 32-bit integer"},
		{model(`"vocab": {"a": 0}, "merges": ["a"]`), `merges[0]: "a" is not two tokens`},
		{model(`"vocab": {"a": 0}, "merges": ["a a"]`), `"aa" is not in the vocabulary`},
		{model(`"vocab": {"a": 0}, "merges": [["a"]]`), "merges[0] has 1 sides instead of 2"},
		{model(`"vocab": {"a": 0}, "merges": [], "fuse_unk": "x"`), `"fuse_unk" must be a boolean`},
		{`{"added_tokens": {}, ` + model(`"vocab": {}, "merges": []`)[1:], "added_tokens must be an array"},
		{`{"post_processor": {"type": "RobertaProcessing", "cls": ["x", 5], "sep": ["y", 6]}, ` + model(`"vocab": {"a": 0}, "merges": []`)[1:], "the id 5 has no token"},
		{`{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?R)"}, "behavior": "Isolated"}, ` + model(`"vocab": {}, "merges": []`)[1:], "(?R is not supported"},
		{strings.Repeat(`{"model":`, 10000), "model"},
		{`{"x": ` + strings.Repeat(`[`, 100000), "nested deeper"},
	} {
		_, err := FromJSON([]byte(c.source))
		require.ErrorContains(t, err, "tokenizer.json: ", c.source[:min(80, len(c.source))])
		require.ErrorContains(t, err, c.want, c.source[:min(80, len(c.source))])
	}
}

func TestConcurrentUse(t *testing.T) {
	var f fixture
	readGz(t, "testdata/kinds/llama3.json.gz", &f)
	tok := f.build(t)
	list := readStrings(t)
	done := make(chan error)
	for range 8 {
		go func() {
			for i, text := range list {
				ids, err := tok.Encode(text, false)
				if err == nil && fmt.Sprint(ids) != fmt.Sprint(append([]int32{}, f.Expected.Texts[i].IDs...)) {
					err = fmt.Errorf("%q gives %v", text, ids)
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
}
