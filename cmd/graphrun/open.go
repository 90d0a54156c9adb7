package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/model"
)

// open opens the checkpoint, with a bar where that takes a while.
func (o *opening) open(ctx context.Context, t terminal, quiet, idsOnly bool) (*model.Model, error) {
	var adapters []model.Adapter
	for _, text := range o.Adapter {
		a, err := model.ParseAdapter(text)
		if err != nil {
			return nil, err
		}
		adapters = append(adapters, a)
	}
	bar := t.progress("opening", true, quiet)
	defer bar.end()
	return model.Open(ctx, model.Options{
		Checkpoint: o.Checkpoint, Graph: o.Graph, Force: o.Force, Device: o.Device, Threads: o.Threads,
		Variants: o.Variant, Exact: o.Exact, Context: o.Context, PrefillStep: o.PrefillStep, MemoryBudget: int64(o.MemoryBudget), Adapters: adapters, IDsOnly: idsOnly, OnWeights: bar.set,
	})
}

// warn tells what is odd about a model that opened all the same.
func (t terminal) warn(m *model.Model) {
	if w := m.Findings(); len(w.List) > 0 {
		t.findings(w.List, w.Source)
	}
	for _, w := range m.Warnings() {
		t.say("warning: %s", w)
	}
}

// size is a number of bytes: 500M, 6GiB, 2g. Letters are powers of 1024.
type size int64

// UnmarshalText reads a flag.
func (s *size) UnmarshalText(data []byte) error {
	text := strings.ToLower(strings.TrimSpace(string(data)))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text[len(digits):]), "b"), "i")
	power := strings.Index("kmgt", unit)
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || len(unit) > 1 || power < 0 || n < 0 || math.IsInf(n, 0) {
		return fmt.Errorf("%q is no size in bytes: write it as 6GiB or 500M", data)
	}
	if unit != "" {
		n *= math.Pow(1024, float64(power+1))
	}
	if n > math.MaxInt64/2 {
		return fmt.Errorf("%q is more than any machine has", data)
	}
	*s = size(n)
	return nil
}
