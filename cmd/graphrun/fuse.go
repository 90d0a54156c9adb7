package main

import (
	"context"
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/quantize"
)

type fuseCmd struct {
	Source string `arg:"" name:"source" help:"A folder with config.json and safetensors files, or a .gguf file. It is only read."`
	Target string `arg:"" name:"target" help:"The new folder, which is not there yet. It is made beside itself, as TARGET.partial; the same command goes on with that after an interruption."`

	Adapter []string `required:"" sep:"none" placeholder:"DIR[=STRENGTH]" help:"A LoRA adapter to add to the weights, mlx-lm's or PEFT's; may be repeated."`
	Dense   bool     `help:"Leave the merged weights dense; otherwise they are quantised anew as they were."`
	Graph   string   `short:"g" placeholder:"FILE" help:"A graph file of your own, instead of the shipped one that recognises the checkpoint."`

	ShardSize size `name:"shard-size" placeholder:"SIZE" help:"Bytes of data in a file (4GiB)."`
	Quiet     bool `short:"q" help:"No progress and no report."`
}

func (c *fuseCmd) Run(ctx context.Context, t terminal) error {
	if !mlx.Available {
		return mlx.ErrNoMLX
	}
	var list []model.Adapter
	for _, text := range c.Adapter {
		a, err := model.ParseAdapter(text)
		if err != nil {
			return err
		}
		list = append(list, a)
	}
	bar := t.progress("fusing", false, c.Quiet)
	bar.counts("weights")
	defer bar.end()
	r, err := model.Fuse(ctx, c.Source, c.Graph, list, c.Dense, quantize.Options{Target: c.Target, ShardBytes: int64(c.ShardSize), Progress: bar.set})
	bar.end()
	switch {
	case err != nil && ctx.Err() != nil:
		t.say("graphrun: interrupted; the same command goes on from here")
		return exit(exitInterrupted)
	case err != nil:
		return err
	}
	if c.Quiet {
		return nil
	}
	_, err = fmt.Fprintf(t.out, "%d weights merged, %d tensors kept: %s\n", len(r.Made), r.Kept, c.Target)
	return err
}
