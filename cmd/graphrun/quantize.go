package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"text/tabwriter"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/quantize"
)

type quantizeCmd struct {
	Source string `arg:"" name:"source" help:"A folder with config.json and safetensors files, or a .gguf file. It is only read."`
	Target string `arg:"" name:"target" help:"The new folder, which is not there yet. It is made beside itself, as TARGET.partial; the same command goes on with that after an interruption."`

	Format string `enum:"trellis,affine" default:"trellis" placeholder:"trellis|affine" help:"What to make where no plan is given: trellis codes of the MLPs, or MLX's affine layout of every matrix that fits (${default})."`
	Bits   int    `default:"4" placeholder:"N" help:"Bits of a weight where the plan says none (${default}): 2, 3 or 4 of trellis codes; 2, 3, 4, 5, 6 or 8 of affine ones."`
	Group  int    `default:"64" placeholder:"N" help:"Weights with a scale of their own, of affine codes (${default}): 32, 64 or 128."`
	Plan   string `placeholder:"FILE" help:"A YAML file that says which weights become what: see docs/checkpoints.md."`

	ShardSize size `name:"shard-size" placeholder:"SIZE" help:"Bytes of data in a file (4GiB)."`
	Workers   int  `placeholder:"N" help:"Threads that choose trellis codes; as many as processors if unset."`
	Quiet     bool `short:"q" help:"No progress and no table."`
}

func (c *quantizeCmd) Run(ctx context.Context, t terminal) error {
	if !mlx.Available {
		return mlx.ErrNoMLX
	}
	plan, err := c.plan(t)
	if err != nil {
		return err
	}
	ck, err := model.OpenHeaders(c.Source)
	if err != nil {
		return err
	}
	o := quantize.Options{Source: ck, Target: c.Target, Plan: plan, Bits: c.Bits, Group: c.Group, ShardBytes: int64(c.ShardSize), Workers: c.Workers}
	if o.Files, err = model.TokenizerFiles(ck); err != nil {
		return err
	}
	bar := t.progress("quantising", false, c.Quiet)
	bar.counts("weights")
	defer bar.end()
	o.Progress = bar.set
	var list diag.List
	r, err := quantize.Run(ctx, o, &list)
	bar.end()
	if list.Len() > 0 {
		t.findings(list.Sorted(), plan.Source)
	}
	switch {
	case list.HasErrors():
		return exit(exitFindings)
	case err != nil && ctx.Err() != nil:
		t.say("graphrun: interrupted; the same command goes on from here")
		return exit(exitInterrupted)
	case err != nil:
		return err
	}
	if c.Quiet {
		return nil
	}
	return c.print(t, r)
}

func (c *quantizeCmd) plan(t terminal) (*quantize.Plan, error) {
	if c.Plan == "" {
		return quantize.Default(c.Format)
	}
	data, err := os.ReadFile(c.Plan)
	if err != nil {
		return nil, err
	}
	var list diag.List
	p := quantize.ParsePlan(c.Plan, data, &list)
	if list.Len() > 0 {
		t.findings(list.Sorted(), p.Source)
	}
	if list.HasErrors() {
		return nil, exit(exitFindings)
	}
	return p, nil
}

var indexed = regexp.MustCompile(`\b\d+\b`)

// print lists what was made, weights of one name in all layers and of one format on one line.
func (c *quantizeCmd) print(t terminal, r *quantize.Report) error {
	type row struct {
		path, what string
		count      int
		sum        float64
	}
	var rows []*row
	at := map[[2]string]*row{}
	for _, m := range r.Made {
		key := [2]string{indexed.ReplaceAllString(m.Path, "*"), m.Quant.String()}
		if m.Geometry.Layout != "" {
			key[1] = m.Geometry.String()
		}
		if at[key] == nil {
			at[key] = &row{path: key[0], what: key[1]}
			rows = append(rows, at[key])
		}
		at[key].count++
		at[key].sum += m.Error
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "weight\tcount\tstored as\terror")
	for _, x := range rows {
		mean := "-"
		if e := x.sum / float64(x.count); !math.IsNaN(e) {
			mean = fmt.Sprintf("%.5f", e)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", x.path, x.count, x.what, mean)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, "%d weights made anew, %d tensors kept; %.1f MiB, before %.1f MiB: %s\n", len(r.Made), r.Kept,
		float64(r.After)/(1<<20), float64(r.Before)/(1<<20), c.Target)
	return err
}
