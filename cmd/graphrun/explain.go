package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/explain"
)

type explainCmd struct {
	File  string `arg:"" optional:"" name:"graph" help:"A graph file (a variant or rules too), or the name of a shipped one. None: the shipped model that recognises the config."`
	Graph string `placeholder:"FILE" help:"The same, as a flag."`
	facts
	Variant []string `sep:"none" placeholder:"NAME|FILE" help:"Take this variant, after those before it (repeatable)."`
	JSON    bool     `name:"json" help:"As one JSON object, with every port."`
	Calls   int      `placeholder:"N" help:"List program N of the plan call by call instead."`
	Example string   `placeholder:"N|NAME" help:"Without a config or checkpoint: the file's example to compose it for, by number or name. Else the first."`
}

func (c *explainCmd) Run(ctx context.Context, t terminal) error {
	if c.File == "" {
		c.File = c.Graph
	} else if c.Graph != "" && c.Graph != c.File {
		return fmt.Errorf("two graph files are named: %s and %s", c.File, c.Graph)
	}
	given := c.Config != "" || c.Checkpoint != ""
	switch {
	case !given && c.File == "":
		return errors.New("a plan is made for a config or a checkpoint, or for an example of a graph file: name a --config, a --checkpoint or a file")
	case given && c.Example != "":
		return errors.New("an example has its own config: leave out --example, or --config and --checkpoint")
	}
	r, err := c.request()
	if err != nil {
		return err
	}
	if !given {
		r.Example = cmp.Or(c.Example, "1")
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
