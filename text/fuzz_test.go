package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzTokenizerJSON feeds files: none may panic, and one that loads must encode and decode.
func FuzzTokenizerJSON(f *testing.F) {
	for _, name := range []string{"gpt2", "llama2", "word_ends", "odd_splits", "llama3", "partial_bytes"} {
		var fx fixture
		readGz(f, "testdata/kinds/"+name+".json.gz", &fx)
		head, _, _ := strings.Cut(string(fx.Tokenizer), `"vocab"`)
		f.Add([]byte(head+`"vocab":{"a":0,"b":1,"ab":2,"▁":3,"<unk>":4,"<0x41>":5,"##b":6,"Ġ":7},"merges":["a b"]}}`), "a b\n")
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if len(text) > 1000 {
			return
		}
		tok, err := FromJSON(data)
		if err != nil {
			return
		}
		ids, err := tok.Encode(text, true)
		if err != nil {
			return
		}
		whole := tok.Decode(ids, false)
		s := NewStream(tok, false)
		var b strings.Builder
		for _, id := range ids {
			part := s.Add(id)
			if !utf8.ValidString(part) {
				t.Fatalf("a part of the stream is not UTF-8: %q", part)
			}
			b.WriteString(part)
		}
		b.WriteString(s.Flush())
		if b.String() != whole {
			t.Fatalf("stream %q, decode %q", b.String(), whole)
		}
	})
}

// FuzzEncodeDecode: byte-level tokenizers without a normaliser lose nothing.
func FuzzEncodeDecode(f *testing.F) {
	var toks []*Tokenizer
	for _, name := range []string{"llama3", "gpt4o", "deepseek", "starcoder", "possessive"} {
		var fx fixture
		readGz(f, "testdata/kinds/"+name+".json.gz", &fx)
		toks = append(toks, fx.build(f))
	}
	for _, s := range readStrings(f)[:40] {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		for _, tok := range toks {
			ids, err := tok.Encode(text, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.Decode(ids, false); got != text {
				t.Fatalf("%q came back as %q", text, got)
			}
		}
	})
}
