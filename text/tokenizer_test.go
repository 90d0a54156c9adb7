package text

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// expected is what Python's tokenizers gives (tools/text/make_expected.py).
type expected struct {
	Texts []struct {
		IDs     []int32 `json:"ids"`
		Special []int32 `json:"special"` // with special tokens, where these differ
		Text    string  `json:"text"`    // decoded again
		Skipped *string `json:"skipped"` // without special tokens, where that differs
		Skip    bool    `json:"skip"`    // nothing is known
	} `json:"texts"`
	Random []struct {
		IDs     []int32 `json:"ids"`
		Text    string  `json:"text"`
		Skipped string  `json:"skipped"`
	} `json:"random"`
}

type fixture struct {
	Tokenizer json.RawMessage `json:"tokenizer"`
	GGUF      *ggufFixture    `json:"gguf"`
	Expected  expected        `json:"expected"`
}

type ggufFixture struct {
	Model, Pre   string
	Tokens       []string
	Types        []int32
	Scores       []float32
	Merges       []string
	BOS, EOS     int
	UNK, PAD     int
	AddBOS       *bool  `json:"add_bos"`
	ChatTemplate string `json:"chat_template"`
}

func (g *ggufFixture) metadata() GGUF {
	return GGUF{
		Model: g.Model, Pre: g.Pre, Tokens: g.Tokens, Types: g.Types, Scores: g.Scores, Merges: g.Merges,
		BOS: g.BOS, EOS: g.EOS, UNK: g.UNK, PAD: g.PAD, AddBOS: g.AddBOS, ChatTemplate: g.ChatTemplate,
	}
}

func readGz(t testing.TB, path string, to any) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(z).Decode(to), path)
}

func readStrings(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/strings.json")
	require.NoError(t, err)
	var list []string
	require.NoError(t, json.Unmarshal(data, &list))
	require.GreaterOrEqual(t, len(list), 200)
	return list
}

func (f *fixture) build(t testing.TB) *Tokenizer {
	t.Helper()
	if f.GGUF != nil {
		tok, err := FromGGUF(f.GGUF.metadata())
		require.NoError(t, err)
		return tok
	}
	tok, err := FromJSON(f.Tokenizer)
	require.NoError(t, err)
	return tok
}

func TestEqualToPython(t *testing.T) {
	list := readStrings(t)
	paths, err := filepath.Glob("testdata/kinds/*.json.gz")
	require.NoError(t, err)
	more, err := filepath.Glob("testdata/gguf/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	require.NotEmpty(t, more)
	for _, path := range append(paths, more...) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json.gz"), func(t *testing.T) {
			var f fixture
			readGz(t, path, &f)
			compare(t, f.build(t), list, f.Expected)
		})
	}
}

// compare checks every text: ids, ids with special tokens, both decodings, and the stream in single steps.
func compare(t *testing.T, tok *Tokenizer, list []string, want expected) {
	require.Len(t, want.Texts, len(list))
	equal := 0
	for i, text := range list {
		w := want.Texts[i]
		if w.Skip {
			continue
		}
		ok := sameIDs(t, tok, text, false, w.IDs)
		if w.Special == nil {
			w.Special = w.IDs
		}
		ok = sameIDs(t, tok, text, true, w.Special) && ok
		if w.Skipped == nil {
			w.Skipped = &w.Text
		}
		ok = sameText(t, tok, w.IDs, false, w.Text) && ok
		ok = sameText(t, tok, w.Special, true, *w.Skipped) && ok
		if ok {
			equal++
		}
	}
	for _, w := range want.Random {
		sameText(t, tok, w.IDs, false, w.Text)
		sameText(t, tok, w.IDs, true, w.Skipped)
	}
	t.Logf("%d of %d texts equal", equal, len(list))
}

func sameIDs(t *testing.T, tok *Tokenizer, text string, special bool, want []int32) bool {
	got, err := tok.Encode(text, special)
	if err != nil {
		t.Errorf("encode %q: %v", text, err)
		return false
	}
	if len(got) == 0 && len(want) == 0 {
		return true
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("encode %q (special %v) differs at %d:\n got %v %q\nwant %v %q", text, special, i,
				got, names(tok, got), want, names(tok, want))
			return false
		}
	}
	return true
}

func names(tok *Tokenizer, ids []int32) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i], _ = tok.Token(id)
	}
	return out
}

func sameText(t *testing.T, tok *Tokenizer, ids []int32, skip bool, want string) bool {
	got := tok.Decode(ids, skip)
	s := NewStream(tok, skip)
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(s.Add(id))
	}
	b.WriteString(s.Flush())
	if got != want || b.String() != want {
		t.Errorf("decode %v (skip %v):\n   got %q\nstream %q\n  want %q", ids, skip, got, b.String(), want)
		return false
	}
	return true
}
