//go:build cgo && mlx

package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
)

// Every checkpoint of the oracle has mlx-lm's bits: prefill, decode, a chunk after them, batches, and what
// generate_step draws, greedy and sampled.
func TestModelOracle(t *testing.T) {
	m := readManifest(t)
	var names []string
	for name, c := range m.Cases {
		if c.Kind == "model" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			c := openCase(t, name)
			e := openModel(t, c.dir, engine.Options{})
			s, err := e.NewSession()
			require.NoError(t, err)
			for _, p := range m.Cases[name].Prompts {
				t.Run(p, func(t *testing.T) {
					c.forwards(t, s, p)
					c.generates(t, s, p, "gen", 0)
					c.generates(t, s, p, "gen16", 16)
				})
			}
			c.batches(t, s)
			if m.Cases[name].Sampled {
				c.samples(t, s)
			}
		})
	}
}

// The default checkpoint, from its GGUF file and as converted for mlx-lm.
func TestSmolLM2Oracle(t *testing.T) {
	readManifest(t)
	c := openCase(t, "smollm2")
	for name, path := range map[string]string{"gguf": smolLM2(t), "converted": c.dir} {
		t.Run(name, func(t *testing.T) {
			e := openModel(t, path, engine.Options{})
			s, err := e.NewSession()
			require.NoError(t, err)
			c.forwards(t, s, "chat")
			c.generates(t, s, "chat", "gen", 0)
		})
	}
}

// smolLM2 is the default checkpoint's file.
func smolLM2(t testing.TB) string {
	path := os.Getenv("GRAPHRUN_CHECKPOINT")
	if path == "" {
		path = "../.deps/checkpoints/SmolLM2-135M-Instruct.Q4_1.gguf"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("the default checkpoint is not here: run tools/checkpoint.sh")
	}
	return path
}

// forwards compares the whole logits of a prompt, of decode steps and of a chunk on the same cache.
func (c *oracleCase) forwards(t *testing.T, s *engine.Session, p string) {
	require.NoError(t, s.Reset())
	c.forward(t, s, p+".prefill_logits", c.ids(p+".prompt"), 0)
	for i, id := range c.ids(p + ".decode_in") {
		c.forward(t, s, p+".decode_logits", []int32{id}, i)
	}
	if c.has(p + ".chunk_in") {
		c.forward(t, s, p+".chunk_logits", c.ids(p+".chunk_in"), 0)
	}
}

// forward compares the logits of tokens with the rows of an expected array [T, V] from row on.
func (c *oracleCase) forward(t *testing.T, s *engine.Session, key string, ids []int32, row int) {
	t.Helper()
	out, err := s.Forward(context.Background(), engine.Tokens(ids...), "logits")
	require.NoError(t, err)
	sameBits(t, rows(c.tensor(key), row, len(ids)), out["logits"], key, row)
}

func rows(a engine.Tensor, from, n int) engine.Tensor {
	size := len(a.Data) / a.Shape[0]
	return engine.Tensor{Dtype: a.Dtype, Shape: []int{1, n, a.Shape[1]}, Data: a.Data[from*size : (from+n)*size]}
}

func sameBits(t *testing.T, want, got engine.Tensor, key string, row int) {
	t.Helper()
	require.Equal(t, want.Dtype, got.Dtype, key)
	require.Equal(t, want.Shape, got.Shape, key)
	if bytes.Equal(want.Data, got.Data) {
		return
	}
	a, err := want.Float32s()
	require.NoError(t, err)
	b, err := got.Float32s()
	require.NoError(t, err)
	worst, differ := 0.0, 0
	for i := range a {
		if a[i] != b[i] {
			differ++
			worst = max(worst, math.Abs(float64(a[i]-b[i])))
		}
	}
	require.Fail(t, "bits differ from mlx-lm's", "%s from row %d: %d of %d differ, by up to %g", key, row, differ, len(a), worst)
}

// generates compares greedy tokens, and the logarithms of their probabilities, with generate_step's.
func (c *oracleCase) generates(t *testing.T, s *engine.Session, p, kind string, step int) {
	key := p + "." + kind + "_"
	if !c.has(key + "tokens") {
		return
	}
	require.NoError(t, s.Reset())
	c.generate(t, s, c.ids(p+".prompt"), key, engine.GenOptions{PrefillStep: step})
}

func (c *oracleCase) generate(t *testing.T, s *engine.Session, prompt []int32, key string, o engine.GenOptions) {
	want, logprobs := c.ids(key+"tokens"), c.tensor(key+"logprobs")
	rows, err := logprobs.Float32s()
	require.NoError(t, err)
	width := logprobs.Shape[1]
	o.MaxTokens = len(want)
	var got []int32
	_, err = s.Generate(context.Background(), prompt, o, func(tok engine.Token) error {
		n := len(got)
		got = append(got, tok.ID)
		if tok.ID == want[n] && rows[n*width+int(tok.ID)] != tok.Logprob {
			return fmt.Errorf("%s: logprob %v of token %d, mlx-lm has %v", key, tok.Logprob, n, rows[n*width+int(tok.ID)])
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, want, got, key)
}

// samples repeats what the oracle drew with mlx.random.seed(7).
func (c *oracleCase) samples(t *testing.T, s *engine.Session) {
	require.NoError(t, s.Reset())
	c.generate(t, s, c.ids("p33.prompt"), "sampled.", engine.GenOptions{Temperature: 0.8, TopP: 0.95, MinP: 0.02, TopK: 40,
		RepetitionPenalty: 1.3, Seed: 7})
}

// batches compares two sequences of equal length.
func (c *oracleCase) batches(t *testing.T, s *engine.Session) {
	if !c.has("batch.prompt") {
		return
	}
	require.NoError(t, s.Reset())
	run := func(key string, rows [][]int32, want engine.Tensor) {
		out, err := s.Forward(context.Background(), engine.Inputs{Tokens: rows}, "logits")
		require.NoError(t, err)
		sameBits(t, want, out["logits"], key, 0)
	}
	split := func(ids []int32) [][]int32 { return [][]int32{ids[:len(ids)/2], ids[len(ids)/2:]} }
	run("batch.logits", split(c.ids("batch.prompt")), c.tensor("batch.logits"))
	next, want := split(c.ids("batch.decode_in")), c.tensor("batch.decode_logits") // [2, step], [2, step, V]
	steps, width := want.Shape[1], len(want.Data)/(want.Shape[0]*want.Shape[1])
	for i := range steps {
		step := engine.Tensor{Dtype: want.Dtype, Shape: []int{2, 1, want.Shape[2]}}
		for b := range 2 {
			step.Data = append(step.Data, want.Data[(b*steps+i)*width:][:width]...)
		}
		run("batch.decode_logits", [][]int32{{next[0][i]}, {next[1][i]}}, step)
	}
	require.NoError(t, s.Reset())
}
