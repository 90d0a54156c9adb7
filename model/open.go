package model

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/text"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/header"
)

// Options say what to open. Only Checkpoint is needed.
type Options struct {
	Checkpoint string // a folder with config.json and safetensors files, a .safetensors file or a .gguf file
	Graph      string // a graph file of one's own; "": the shipped model that recognises the checkpoint
	Force      bool   // compose Graph even where it does not recognise the checkpoint

	Variants []string // names of shipped variants, or files, in the order they follow on one another
	Exact    bool     // leave out the variants that are taken by default
	Rules    []string // names of shipped rules, or files, that the plan is held to

	Device       string // cpu, gpu; "": MLX's default
	Threads      int    // of the CPU's own kernels; 0: as many as the processors
	Context      int    // positions that a text may take; 0: no limit
	PrefillStep  int    // prompt tokens per forward; 0: engine.DefaultPrefillStep
	MemoryBudget int64  // bytes that weights, states and values may take; 0: no limit

	// Adapters are mounted in this order and active in every text that says nothing else (Settings.Adapters).
	Adapters []Adapter

	Apart bool // run every call by itself, also what the plan has run as one: for traces

	// IDsOnly leaves the tokenizer unread: Generate gives ids without a text and ends at no token of the model's own.
	IDsOnly bool

	// OnWeights is told the bytes of the opened weights.
	OnWeights func(done, total int64)
}

// Model is a checkpoint that answers. Its methods may be called from any goroutine; one text is generated at a time per
// Session.
type Model struct {
	name    string
	step    int
	idsOnly bool
	ck      *header.Checkpoint
	engine  *engine.Engine
	words   func() (*text.Loaded, error)
	found   *Findings
}

// Open reads the headers, composes the plan and opens the weights. The tokenizer is read meanwhile. What is wrong with a
// graph or does not fit the checkpoint comes as *Findings. Without MLX it is mlx.ErrNoMLX, before any file is looked at.
func Open(ctx context.Context, o Options) (*Model, error) {
	if !mlx.Available {
		return nil, mlx.ErrNoMLX
	}
	if o.Context < 0 || o.PrefillStep < 0 || o.MemoryBudget < 0 {
		return nil, fmt.Errorf("context %d, prefill step %d and memory budget %d: none may be negative", o.Context, o.PrefillStep, o.MemoryBudget)
	}
	ck, err := OpenHeaders(o.Checkpoint)
	if err != nil {
		return nil, err
	}
	m := &Model{ck: ck, step: o.PrefillStep, idsOnly: o.IDsOnly}
	if m.words, err = readWords(ck, o.IDsOnly); err != nil {
		return nil, err
	}
	p, reg, err := m.compose(ctx, o)
	if err != nil {
		return nil, err
	}
	files, err := weights.OpenFiles(ck)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	m.engine, err = engine.Open(ctx, p, reg, files, engine.Options{
		Device: o.Device, Threads: o.Threads, Context: o.Context, Chunk: o.PrefillStep, MemoryBudget: o.MemoryBudget, Apart: o.Apart, OnProgress: o.OnWeights,
	})
	if err != nil {
		return nil, m.placed("cannot-open", err)
	}
	if err := m.mount(ctx, o.Adapters); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// OpenHeaders reads a checkpoint's headers, for a model to be run: it needs a config.
func OpenHeaders(path string) (*header.Checkpoint, error) {
	ck, err := Headers(path)
	if err == nil && ck.Config == nil {
		return nil, fmt.Errorf("%s: no config.json beside it, so nothing says how its tensors are put together", path)
	}
	return ck, err
}

// Headers reads a checkpoint's headers; a safetensors file alone may have no config.
func Headers(path string) (*header.Checkpoint, error) {
	if path == "" {
		return nil, errors.New("no checkpoint is named: give a folder with config.json and safetensors files, or a .gguf file")
	}
	if _, err := os.Stat(path); err != nil {
		return nil, missing(path, "checkpoint", err)
	}
	return header.Open(path)
}

func (m *Model) compose(ctx context.Context, o Options) (*plan.Plan, *registry.Registry, error) {
	f := Facts{Force: o.Force, Variants: o.Variants, Rules: o.Rules, Exact: o.Exact, Device: o.Device,
		Use: compose.Use{Context: o.Context, Chunk: o.PrefillStep, MemoryBudget: o.MemoryBudget, Adapters: len(o.Adapters) > 0}}
	r, err := f.request()
	if err != nil {
		return nil, nil, err
	}
	r.Graph, r.Config, r.Checkpoint = o.Graph, m.ck.Config, m.ck
	made, err := Compose(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	m.name, m.found = made.Model, made.Found
	if made.Plan == nil {
		return nil, nil, m.found
	}
	return made.Plan, r.Registry, nil
}

// placed puts an engine's error at its place in the graph file, where it has one.
func (m *Model) placed(code string, err error) error {
	var at *engine.OpError
	if !errors.As(err, &at) || at.At.IsZero() {
		return err
	}
	return &Findings{
		List:   []*diag.Diagnostic{{Code: code, Message: at.Err.Error(), At: at.At, Path: at.Path}},
		Source: m.found.Source,
		err:    err,
	}
}

// Name is the name of the graph that runs.
func (m *Model) Name() string { return m.name }

// Checkpoint is what was read of the checkpoint's headers.
func (m *Model) Checkpoint() *header.Checkpoint { return m.ck }

// Engine is what runs the plan, for callers that work on token ids.
func (m *Model) Engine() *engine.Engine { return m.engine }

// Findings are the composer's that did not keep the model from opening: warnings.
func (m *Model) Findings() *Findings { return m.found }

// Close frees the weights and everything else that was opened. It may be called twice.
func (m *Model) Close() { m.engine.Close() }
