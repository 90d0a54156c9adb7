package model

import (
	"context"
	"errors"
	"os"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/weights/header"
)

// Facts are what plans are made for, without a weight being opened.
type Facts struct {
	// Config is a config.json, or a folder that holds one; Checkpoint a checkpoint, of which headers alone are read. One of
	// them, or none: then names and types are checked, and nothing is composed.
	Config, Checkpoint string
	Force              bool // compose a model even if it does not recognise the config

	Variants, Rules []string // that hold for every model: shipped names, or files
	Exact           bool     // leave out the variants that are taken by default

	Device string // cpu, gpu; "": MLX's default, a CPU in a build without MLX
	Use    compose.Use
}

// Request is what a composer is asked with these facts: the shipped graphs, this build's operators, the headers read.
func (f Facts) Request() (compose.Request, error) {
	r, err := f.request()
	if err != nil {
		return r, err
	}
	switch {
	case f.Config != "" && f.Checkpoint != "":
		err = errors.New("a config and a checkpoint are given; a checkpoint has its own config")
	case f.Config != "":
		if r.Config, err = header.ReadConfig(f.Config); err != nil {
			err = missing(f.Config, "config", err)
		}
	case f.Checkpoint != "":
		if r.Checkpoint, err = OpenHeaders(f.Checkpoint); err == nil {
			r.Config = r.Checkpoint.Config
		}
	}
	return r, err
}

// request leaves the files alone.
func (f Facts) request() (compose.Request, error) {
	reg, err := ops.Default()
	if err != nil {
		return compose.Request{}, err
	}
	device, err := deviceFacts(f.Device)
	return compose.Request{
		Shipped: graphs.Files, Registry: reg, Force: f.Force, Variants: f.Variants, Exact: f.Exact, Rules: f.Rules,
		Device: device, Use: f.Use, Memory: MemoryLines(reg),
	}, err
}

// Made is what a composer made.
type Made struct {
	*compose.Result
	Found *Findings // with the lines that they point into
}

// Compose makes a plan. What is wrong with the files is in its findings; an error means that it could not be done.
func Compose(ctx context.Context, r compose.Request) (*Made, error) {
	if r.Graph != "" && r.Overlay == nil {
		if _, err := os.Stat(r.Graph); err != nil {
			return nil, missing(r.Graph, "graph file", err)
		}
	}
	done, err := compose.Compose(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Made{done, &Findings{List: done.Diagnostics.Sorted(), Source: sourceOf(done.Sources)}}, nil
}

// MemoryLines answers what rules ask of a plan's memory.
func MemoryLines(reg *registry.Registry) func(p *plan.Plan, context, batch int) ([]compose.MemoryLine, error) {
	return func(p *plan.Plan, context, batch int) ([]compose.MemoryLine, error) {
		e, err := engine.EstimateMemory(p, reg, context, batch, engine.DefaultPrefillStep)
		if err != nil {
			return nil, err
		}
		lines := make([]compose.MemoryLine, len(e.Items))
		for i, item := range e.Items {
			lines[i] = compose.MemoryLine{Name: item.Name, Bytes: item.Bytes}
		}
		return lines, nil
	}
}
