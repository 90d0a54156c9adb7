package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/registry"
)

// facts are the flags of what a plan is composed for; weights are never opened.
type facts struct {
	Checkpoint string `short:"c" placeholder:"PATH" help:"Compose for this checkpoint (only headers are read)."`
	Config     string `placeholder:"FILE" help:"Compose for this config.json, without a checkpoint."`
	Force      bool   `help:"Compose a model even if it does not recognise the config."`
	Exact      bool   `help:"Leave out the variants that are taken by default."`
	Context    int    `default:"4096" placeholder:"N" help:"Positions per sequence that memory is counted for."`
	Batch      int    `default:"1" placeholder:"N" help:"Sequences that memory is counted for."`
}

// composed is a plan with all that explains it.
type composed struct {
	*model.Made
	registry *registry.Registry
	facts    explain.Facts
}

// request reads the headers, once for all the plans of a command.
func (f *facts) request() (compose.Request, error) {
	return model.Facts{Config: f.Config, Checkpoint: f.Checkpoint, Force: f.Force, Exact: f.Exact,
		Use: compose.Use{Context: f.Context, Batch: f.Batch}}.Request()
}

// compose makes a plan of a graph, "" for the shipped model. What is wrong with the files is in its findings.
func (f *facts) compose(ctx context.Context, r compose.Request, graph string, variants []string) (*composed, error) {
	r.Graph, r.Variants = graph, variants
	if _, err := os.Stat(graph); err != nil && graph != "" && filepath.Ext(graph) == "" && filepath.Base(graph) == graph {
		r.Graph, r.Model = "", graph
	}
	made, err := model.Compose(ctx, r)
	if err != nil {
		return nil, err
	}
	out := &composed{Made: made, registry: r.Registry, facts: explain.Facts{Device: r.Device.Kind, Kind: r.Device.Kind, Config: f.Config}}
	if e := made.Example; e != nil {
		out.example(e)
	}
	if r.Checkpoint != nil {
		out.facts.Checkpoint = &explain.Checkpoint{Path: r.Checkpoint.Path, Format: r.Checkpoint.Format, Fingerprint: made.Fingerprint}
	}
	if made.Plan == nil {
		return out, nil
	}
	e, err := engine.EstimateMemory(made.Plan, r.Registry, f.Context, f.Batch, engine.DefaultPrefillStep)
	if err != nil {
		return nil, err
	}
	out.facts.Memory = explain.Memory{Total: e.Total, Context: e.Context, Batch: e.Batch}
	for _, item := range e.Items {
		out.facts.Memory.Items = append(out.facts.Memory.Items, explain.Item(item))
	}
	return out, nil
}

// example tells of the example that the plan is for.
func (c *composed) example(e *compose.Example) {
	c.facts.Config, c.facts.Kind = e.Config, e.Device.Kind
	c.facts.Device = cmp.Or(e.Device.Arch, e.Device.Kind, "cpu")
	if e.Device.ANE {
		c.facts.Device += " with a Neural Engine"
	}
	if e.Tensors != "" {
		c.facts.Checkpoint = &explain.Checkpoint{Path: e.Tensors, Format: cmp.Or(e.Format, "safetensors"), Fingerprint: cmp.Or(e.Fingerprint, c.Fingerprint)}
	}
}

// report is the composed plan's report; warnings are told.
func (c *composed) report(t terminal) (*explain.Report, error) {
	if c.Plan == nil {
		if len(c.Found.List) == 0 {
			return nil, errors.New("this file gives no plan: a model is composed, for a --config or a --checkpoint")
		}
		return nil, c.Found
	}
	if len(c.Found.List) > 0 {
		t.findings(c.Found.List, c.Found.Source)
	}
	return explain.Make(c.Plan, c.registry, c.facts)
}
