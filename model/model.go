package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/plan"
)

// Warnings tell what is odd about the checkpoint and its tokenizer, beside the composer's findings: parts that disagree on
// where a text ends, for one.
func (m *Model) Warnings() []string {
	out := slices.Clone(m.ck.Warnings)
	if l, err := m.words(); err == nil {
		out = append(out, l.Warnings...)
	}
	return out
}

// Recommended is what the checkpoint's generation_config.json advises for sampling; "" where it does not. It is told and
// never applied unasked.
func (m *Model) Recommended() string {
	if m.ck.GenerationConfig == nil {
		return ""
	}
	var parts []string
	for _, key := range []string{"temperature", "top_p", "top_k", "min_p", "repetition_penalty"} {
		if v := m.ck.GenerationConfig.Values[key]; v != nil {
			parts = append(parts, fmt.Sprintf("%s %v", key, v))
		}
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, ", ") + " (" + m.ck.GenerationConfig.Path + ")"
}

// SampleIDs is a prompt of n token ids all over the vocabulary, for measuring: how fast a model is does not depend on
// what it is told.
func (m *Model) SampleIDs(n int) ([]int32, error) {
	width := 0
	for _, p := range m.engine.Plan().Programs {
		for _, r := range p.Results {
			if r.Name == "logits" {
				width, _ = lastDim(r)
			}
		}
	}
	if width <= 0 {
		return nil, fmt.Errorf("%s gives no logits over a vocabulary", m.name)
	}
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32((i*7919 + 1) % width)
	}
	return ids, nil
}

func lastDim(r plan.Named) (int, bool) {
	if len(r.Shape) == 0 {
		return 0, false
	}
	return r.Shape.Last().Known()
}
