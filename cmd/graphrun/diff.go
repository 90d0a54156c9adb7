package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/explain/compare"
	"github.com/graphrun/graphrun/model"
)

type diffCmd struct {
	A string `arg:"" optional:"" help:"The first plan's graph file, or a variant's. None: the shipped model that recognises the config."`
	B string `arg:"" optional:"" help:"The second plan's. None: that of the first."`
	facts
	Variant     []string `sep:"none" placeholder:"NAME|FILE" help:"Take this variant for the second plan (repeatable)."`
	BaseVariant []string `sep:"none" placeholder:"NAME|FILE" help:"Take this variant for the first plan (repeatable)."`
	ToConfig    string   `placeholder:"FILE" help:"Compose the second plan for this config.json."`
	ToCheck     string   `name:"to-checkpoint" placeholder:"PATH" help:"Compose the second plan for this checkpoint."`
	JSON        bool     `name:"json" help:"As one JSON object."`
}

// Run gives 0 for equal plans, 1 for others, and 2 where one of them cannot be made.
func (c *diffCmd) Run(ctx context.Context, t terminal) error {
	if c.Config == "" && c.Checkpoint == "" {
		return errors.New("plans are made for a config or a checkpoint: name a --config or a --checkpoint")
	}
	to := c.facts
	if c.ToConfig != "" || c.ToCheck != "" {
		to.Config, to.Checkpoint = c.ToConfig, c.ToCheck
	}
	first, second := side{c.facts, c.A, c.BaseVariant}, side{to, c.B, c.Variant}
	first.takeVariant()
	second.takeVariant()
	if c.B == "" {
		second.graph = first.graph
	}
	a, err := first.make(ctx, t)
	if err != nil {
		return t.unmade("first", err)
	}
	b, err := second.make(ctx, t)
	if err != nil {
		return t.unmade("second", err)
	}
	d := compare.Plans(a, b)
	if c.JSON {
		err = d.WriteJSON(t.out)
	} else {
		err = d.WriteText(t.out, style(t.out).Color)
	}
	if err == nil && !d.Same {
		err = exit(exitFindings)
	}
	return err
}

// side is what one of the two plans is made of.
type side struct {
	facts
	graph    string
	variants []string
}

// takeVariant makes a variant of what was named in a graph's place, if it is one.
func (s *side) takeVariant() {
	if isVariant(s.graph) {
		s.variants = append(s.variants, s.graph)
		s.graph = ""
	}
}

// isVariant tells whether a file is a variant; what cannot be read is the composer's to tell.
func isVariant(name string) bool {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() || info.Size() > source.MaxBytes {
		return false
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	f := source.Parse(name, data, &diag.List{})
	if f.Root == nil {
		return false
	}
	for i := 0; i+1 < len(f.Root.Content); i += 2 {
		if f.Root.Content[i].Value == "kind" {
			return f.Root.Content[i+1].Value == "variant"
		}
	}
	return false
}

func (s *side) make(ctx context.Context, t terminal) (compare.Side, error) {
	request, err := s.request()
	if err != nil {
		return compare.Side{}, err
	}
	made, err := s.compose(ctx, request, s.graph, s.variants)
	if err != nil {
		return compare.Side{}, err
	}
	r, err := made.report(t)
	return compare.Side{Report: r, Plan: made.Plan}, err
}

// unmade tells why there is nothing to compare: findings too mean that it could not be done.
func (t terminal) unmade(which string, err error) error {
	var found *model.Findings
	if errors.As(err, &found) {
		t.findings(found.List, found.Source)
		t.say("graphrun: the %s plan cannot be made", which)
		return exit(exitFailed)
	}
	return fmt.Errorf("the %s plan: %w", which, err)
}
