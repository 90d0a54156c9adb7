package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/weights/header"
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
	*compose.Result
	registry *registry.Registry
	facts    explain.Facts
}

// inputs are read once, for all the plans of a command.
type inputs struct {
	config     *header.Config
	checkpoint *header.Checkpoint
	registry   *registry.Registry
}

func (f *facts) read() (*inputs, error) {
	reg, err := ops.Default()
	if err != nil {
		return nil, err
	}
	in := &inputs{registry: reg}
	switch {
	case f.Config != "" && f.Checkpoint != "":
		return nil, errors.New("a config and a checkpoint are given; a checkpoint has its own config")
	case f.Config != "":
		in.config, err = header.ReadConfig(f.Config)
	case f.Checkpoint != "":
		if in.checkpoint, err = model.OpenHeaders(f.Checkpoint); err == nil {
			in.config = in.checkpoint.Config
		}
	}
	return in, err
}

// compose makes a plan. What is wrong with the files comes as *model.Findings.
func (f *facts) compose(ctx context.Context, in *inputs, graph string, variants []string) (*composed, error) {
	if graph != "" {
		if _, err := os.Stat(graph); err != nil {
			return nil, err
		}
	}
	use := compose.Use{Context: f.Context, Batch: f.Batch}
	r, err := compose.Compose(ctx, compose.Request{
		Graph: graph, Shipped: graphs.Files, Config: in.config, Checkpoint: in.checkpoint, Registry: in.registry,
		Force: f.Force, Variants: variants, Exact: f.Exact, Use: use,
	})
	if err != nil {
		return nil, err
	}
	out := &composed{Result: r, registry: in.registry, facts: explain.Facts{Device: "cpu", Config: f.Config}}
	if in.checkpoint != nil {
		out.facts.Checkpoint = &explain.Checkpoint{Path: in.checkpoint.Path, Format: in.checkpoint.Format, Fingerprint: r.Fingerprint}
	}
	if r.Plan == nil {
		return out, nil
	}
	e, err := engine.EstimateMemory(r.Plan, in.registry, f.Context, f.Batch, 2048)
	if err != nil {
		return nil, err
	}
	out.facts.Memory = explain.Memory{Total: e.Total, Context: e.Context, Batch: e.Batch}
	for _, item := range e.Items {
		out.facts.Memory.Items = append(out.facts.Memory.Items, explain.Item(item))
	}
	return out, nil
}

// findings are what was found of a composed graph, for the terminal.
func (c *composed) findings() *model.Findings {
	return &model.Findings{List: c.Diagnostics.Sorted(), Source: c.line}
}

func (c *composed) line(file string, line int) (string, bool) {
	f := c.Sources[file]
	if f == nil {
		return "", false
	}
	return f.Line(line), true
}

// report is the composed plan's report; warnings are told.
func (c *composed) report(t terminal) (*explain.Report, error) {
	found := c.findings()
	if c.Plan == nil {
		if len(found.List) == 0 {
			return nil, errors.New("this file gives no plan: a model is composed, for a --config or a --checkpoint")
		}
		return nil, found
	}
	if len(found.List) > 0 {
		t.findings(found.List, found.Source)
	}
	return explain.Make(c.Plan, c.registry, c.facts)
}

type explainCmd struct {
	File  string `arg:"" optional:"" name:"graph" help:"A graph file. None: the shipped model that recognises the config."`
	Graph string `placeholder:"FILE" help:"The same, as a flag."`
	facts
	Variant []string `sep:"none" placeholder:"NAME|FILE" help:"Take this variant, after those before it (repeatable)."`
	JSON    bool     `name:"json" help:"As one JSON object, with every port."`
	Calls   int      `placeholder:"N" help:"List program N of the plan call by call instead."`
}

func (c *explainCmd) Run(ctx context.Context, t terminal) error {
	if c.File == "" {
		c.File = c.Graph
	} else if c.Graph != "" && c.Graph != c.File {
		return fmt.Errorf("two graph files are named: %s and %s", c.File, c.Graph)
	}
	if c.Config == "" && c.Checkpoint == "" {
		return errors.New("a plan is made for a config or a checkpoint: name a --config or a --checkpoint")
	}
	in, err := c.read()
	if err != nil {
		return err
	}
	made, err := c.compose(ctx, in, c.File, c.Variant)
	if err != nil {
		return err
	}
	report, err := made.report(t)
	if err != nil {
		return err
	}
	if c.Calls != 0 {
		list, err := explain.Calls(made.Plan, c.Calls)
		if err != nil {
			return err
		}
		if c.JSON {
			return list.WriteJSON(t.out)
		}
		return list.WriteText(t.out)
	}
	if c.JSON {
		return report.WriteJSON(t.out)
	}
	return report.WriteText(t.out)
}
