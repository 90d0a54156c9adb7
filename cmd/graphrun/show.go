package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/show"
	"github.com/graphrun/graphrun/show/dataflow"
)

type showCmd struct {
	File  string `arg:"" optional:"" name:"graph" help:"A model's or block's graph file. None: the shipped model that recognises the config."`
	Graph string `placeholder:"FILE" help:"The same, as a flag."`
	facts
	Variant []string `sep:"none" placeholder:"NAME|FILE" help:"Take this variant, after those before it (repeatable)."`
	Format  string   `enum:"mermaid,dot,svg,html" default:"mermaid" placeholder:"mermaid|dot|svg|html" help:"html: one page that folds, searches and works offline."`
	Output  string   `short:"o" placeholder:"FILE" help:"Write to this file instead of standard output."`
}

func (c *showCmd) Run(ctx context.Context, t terminal) error {
	if c.File == "" {
		c.File = c.Graph
	} else if c.Graph != "" && c.Graph != c.File {
		return fmt.Errorf("two graph files are named: %s and %s", c.File, c.Graph)
	}
	if c.File == "" && c.Config == "" && c.Checkpoint == "" {
		return errors.New("nothing to show: name a graph file, or a --config or --checkpoint for the shipped model")
	}
	r, err := c.request()
	if err != nil {
		return err
	}
	made, err := c.compose(ctx, r, c.File, c.Variant)
	if err != nil {
		return err
	}
	if made.Diagnostics.HasErrors() {
		return made.Found
	}
	if len(made.Found.List) > 0 {
		t.findings(made.Found.List, made.Found.Source)
	}
	g, err := dataflow.Make(dataflow.Sources{Name: made.Model, Files: made.Sources, Registry: r.Registry, Plan: made.Plan})
	if err != nil {
		return err
	}
	if err := c.about(g, made); err != nil {
		return err
	}
	if c.Output != "" {
		return writeFile(c.Output, func(w io.Writer) error { return show.Write(w, g, c.Format) })
	}
	return show.Write(t.out, g, c.Format)
}

// about says what the picture was made for.
func (c *showCmd) about(g *dataflow.Graph, made *composed) error {
	note := func(name, text string) { g.About = append(g.About, dataflow.Fact{Name: name, Text: text}) }
	if made.Plan == nil {
		note("plan", "none: name a --config or --checkpoint for shapes and classes")
		return nil
	}
	r, err := made.report(terminal{err: discard{}})
	if err != nil {
		return err
	}
	if r.Checkpoint != nil {
		note("checkpoint", r.Checkpoint.Path)
	} else {
		note("config", r.Config)
	}
	if len(r.Variants) > 0 {
		note("variants", strings.Join(r.Variants, ", "))
	}
	note("device", r.Device)
	note("plan", r.Hash[:16])
	return nil
}

// discard keeps warnings from being told twice.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
