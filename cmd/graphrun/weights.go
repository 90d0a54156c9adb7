package main

import (
	"context"
	"errors"

	"github.com/graphrun/graphrun/explain/tensors"
	"github.com/graphrun/graphrun/model"
)

type weightsCmd struct {
	Checkpoint string `arg:"" placeholder:"PATH" help:"A folder with config.json and safetensors files, a .safetensors or a .gguf file."`
	Graph      string `short:"g" placeholder:"FILE" help:"A graph file of your own, instead of the shipped one that recognises the checkpoint."`
	Force      bool   `help:"Take --graph even if it does not recognise the checkpoint."`
	JSON       bool   `name:"json" help:"As one JSON object, a key for each stored tensor: what an example's tensors file is."`
}

// Help is shown by --help below the first line.
func (c *weightsCmd) Help() string {
	return `Each line is a tensor as the graph sees it: its name, dtype and shape after the view, how it is quantised, what it is stored as
and under which name, and who uses it: a port by its kind, a call by its operator. Below stand what the view drops, what nothing
uses, and what the graph wants and does not find. Only headers are read. The exit code is 1 where something is unused or missing.`
}

func (c *weightsCmd) Run(ctx context.Context, t terminal) error {
	list, err := c.list(ctx, t)
	if err != nil {
		return err
	}
	if c.JSON {
		err = list.WriteJSON(t.out)
	} else {
		err = list.WriteText(t.out, style(t.out).Color)
	}
	if err == nil && (list.Guessed || len(list.Missing) > 0 || len(list.Unused()) > 0) {
		err = exit(exitFindings)
	}
	return err
}

func (c *weightsCmd) list(ctx context.Context, t terminal) (*tensors.List, error) {
	ck, err := model.Headers(c.Checkpoint)
	if err != nil {
		return nil, err
	}
	if ck.Config == nil {
		t.say("no config.json beside %s: its tensors are listed as they are stored", c.Checkpoint)
		return tensors.Plain(ck), nil
	}
	r, err := model.Facts{Force: c.Force, Exact: true}.Request()
	if err != nil {
		return nil, err
	}
	r.Graph, r.Config, r.Checkpoint = c.Graph, ck.Config, ck
	made, err := model.Compose(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case made.Audit == nil && len(made.Found.List) == 1 && made.Found.List[0].Code == "no-model":
		t.say("%s: its tensors are listed as they are stored", made.Found.List[0].Message)
		return tensors.Plain(ck), nil
	case made.Audit == nil:
		return nil, made.Found
	}
	if made.Audit.Whole {
		return tensors.Make(ck, made.Model, made.Audit, nil), nil
	}
	t.findings(made.Found.List, made.Found.Source)
	r.Checkpoint = nil
	alone, err := model.Compose(ctx, r)
	if err != nil {
		return nil, errors.Join(err, made.Found)
	}
	return tensors.Make(ck, made.Model, made.Audit, alone.Plan), nil
}
