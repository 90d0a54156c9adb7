package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/model"
)

type benchCmd struct {
	opening `embed:""`

	PromptTokens int    `default:"512" placeholder:"N" help:"Length of the prompt (${default})."`
	PromptIDs    string `name:"prompt-ids" placeholder:"FILE" help:"A JSON list of token ids to take as the prompt."`
	DecodeTokens int    `default:"128" placeholder:"N" help:"Tokens to generate after the first; the model's end of text is ignored (${default})."`
	Repeat       int    `default:"3" placeholder:"N" help:"How often to measure, after a warm-up (${default})."`
	JSON         bool   `name:"json" help:"A JSON object per measurement, a line each."`
}

// measured is one measurement; the keys are what tools/bench reads.
type measured struct {
	PromptTokens int     `json:"prompt_tokens"`
	DecodeTokens int     `json:"decode_tokens"`
	PromptTPS    float64 `json:"prompt_tps"` // to the first new token
	DecodeTPS    float64 `json:"decode_tps"` // from the second new token to the last
	FirstToken   float64 `json:"first_token_s"`
	Nodes        int     `json:"nodes_per_token"` // calls of MLX's primitives in a step of one token, a recorded run as one
	PeakRSS      int64   `json:"peak_rss_bytes"`
	Chains       int     `json:"chains_per_token"`   // recorded runs of a step
	Recorded     int     `json:"recorded_per_token"` // primitives in them
	PeakMemory   int64   `json:"peak_memory_bytes"`  // allocated by MLX
	Tokens       []int32 `json:"tokens"`             // the first 16
}

func (c *benchCmd) Run(ctx context.Context, t terminal) error {
	if !mlx.Available {
		return mlx.ErrNoMLX
	}
	if c.PromptTokens < 2 || c.DecodeTokens < 2 || c.Repeat < 1 {
		return errors.New("--prompt-tokens and --decode-tokens are at least 2, --repeat at least 1")
	}
	var ids []int32
	if c.PromptIDs != "" {
		data, err := os.ReadFile(c.PromptIDs)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &ids); err != nil || len(ids) < 2 {
			return fmt.Errorf("%s is no JSON list of two token ids or more (%v)", c.PromptIDs, err)
		}
	}
	m, err := c.open(ctx, t, c.JSON, true)
	if err != nil {
		return err
	}
	defer m.Close()
	if ids == nil {
		if ids, err = m.SampleIDs(c.PromptTokens); err != nil {
			return err
		}
	}
	if _, err := m.Generate(ctx, ids[:min(4, len(ids))], c.settings(1), nil); err != nil {
		return err
	}
	for range c.Repeat {
		r, err := m.Generate(ctx, ids, c.settings(c.DecodeTokens), nil)
		if err != nil {
			return err
		}
		if r.Reason == engine.Cancelled {
			return context.Canceled
		}
		if err := c.tell(t, r); err != nil {
			return err
		}
	}
	return nil
}

// settings generate n tokens after the first, whatever they are: the model is opened without its stops.
func (c *benchCmd) settings(n int) model.Settings {
	return model.Settings{GenOptions: engine.GenOptions{MaxTokens: n + 1, PrefillStep: c.PrefillStep}}
}

func (c *benchCmd) tell(t terminal, r model.Result) error {
	d := measured{r.PromptTokens, r.GeneratedTokens - 1, r.PromptTokensPerSec, r.SteadyTokensPerSec, r.FirstTokenSeconds, r.StepNodes,
		process.PeakMemory(), r.StepChains, r.StepRecorded, r.PeakMemory, r.Tokens[:min(16, len(r.Tokens))]}
	if c.JSON {
		return json.NewEncoder(t.out).Encode(d)
	}
	_, err := fmt.Fprintf(t.out, "prompt %d: %.1f tokens/s, decode %d: %.1f tokens/s, first token %.3f s, %d nodes a token (%d of them %d recorded ones), peak memory %s\n",
		d.PromptTokens, d.PromptTPS, d.DecodeTokens, d.DecodeTPS, d.FirstToken, d.Nodes, d.Chains, d.Recorded, engine.Bytes(d.PeakRSS))
	return err
}
