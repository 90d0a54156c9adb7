//go:build cgo && mlx

package engine_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
)

// Generate gives what mlx-lm's generate_step gives: tokens and the logarithms of their probabilities, greedy with two
// sizes of prompt chunks, and sampled with every filter and a penalty. Package e2e compares whole logits.
func TestGenerateOracle(t *testing.T) {
	m := readManifest(t)
	var names []string
	for name, c := range m.Cases {
		if c.Sampled {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if names == nil {
		t.Skip("the oracle has no sampled case: run `make oracle`")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			c := openCase(t, name)
			s, err := openModel(t, c.dir, engine.Options{Device: "cpu"}).NewSession()
			require.NoError(t, err)
			prompt := c.ids("p33.prompt")
			c.generate(t, s, prompt, "p33.gen_", engine.GenOptions{})
			c.generate(t, s, prompt, "p33.gen16_", engine.GenOptions{PrefillStep: 16})
			c.generate(t, s, prompt, "sampled.", engine.GenOptions{Temperature: 0.8, TopP: 0.95, MinP: 0.02, TopK: 40,
				RepetitionPenalty: 1.3, Seed: 7})
		})
	}
}

func (c *oracleCase) generate(t *testing.T, s *engine.Session, prompt []int32, key string, o engine.GenOptions) {
	require.NoError(t, s.Reset())
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
