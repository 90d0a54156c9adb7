package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/explain"
)

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
	r, err := c.request()
	if err != nil {
		return err
	}
	made, err := c.compose(ctx, r, c.File, c.Variant)
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
