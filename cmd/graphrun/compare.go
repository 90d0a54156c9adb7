package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/trace"
)

type compareCmd struct {
	A string `arg:"" optional:"" help:"The first graph file, or a variant's. None: the shipped model that recognises the checkpoint; one alone is held to it."`
	B string `arg:"" optional:"" help:"The second, or a .safetensors file of values: one that --save wrote, or an oracle's. None: the graph of the first."`

	Checkpoint  string   `short:"c" required:"" placeholder:"PATH" help:"The checkpoint that both are run with."`
	ToCheck     string   `name:"to-checkpoint" placeholder:"PATH" help:"Another checkpoint for the second."`
	Variant     []string `sep:"none" placeholder:"NAME|FILE" help:"Take this variant for the second (repeatable)."`
	BaseVariant []string `sep:"none" placeholder:"NAME|FILE" help:"Take this variant for the first (repeatable)."`
	Exact       bool     `help:"Take no variant by default."`
	Force       bool     `help:"Take a graph even if it does not recognise the checkpoint."`
	Device      string   `enum:"cpu,gpu," default:"" placeholder:"cpu|gpu" help:"Where to run; MLX's default device otherwise."`

	Prompt string  `short:"p" xor:"input" placeholder:"TEXT" help:"What both are given, as it stands."`
	Tokens []int32 `xor:"input" placeholder:"ID,…" help:"Token ids instead."`
	Length int     `default:"16" placeholder:"N" help:"Without either: so many token ids from all over the vocabulary (${default})."`
	Case   string  `placeholder:"NAME" help:"Of an oracle's file: the case to compare with; its first otherwise."`
	Save   string  `placeholder:"FILE" help:"Write the first one's values to this .safetensors file."`

	All  bool `help:"List every node that differs."`
	JSON bool `name:"json" help:"As one JSON object, with every node that differs."`
}

// Help is shown by --help below the first line.
func (c *compareCmd) Help() string {
	return `Both graphs run one forward over the same tokens, and every value that one of them computes is held to the value of the same
name in the other: the path of its call with the operator, or the path of its port. What a plan has run as one runs call by call
here. The first that differs is where to look; the outputs come last. The values of the first are kept in memory meanwhile. Exit code 0: all is equal, bit for bit; 1: something
differs; 2: it could not be done.`
}

func (c *compareCmd) Run(ctx context.Context, t terminal) error {
	if !mlx.Available {
		return mlx.ErrNoMLX
	}
	if c.B == "" && (strings.HasSuffix(c.A, ".safetensors") || len(c.Variant) == 0 && c.ToCheck == "" && c.Save == "") {
		c.A, c.B = "", c.A
	}
	var saved *trace.Saved
	first, second := c.side(c.A, c.Checkpoint, c.BaseVariant), c.side(c.B, c.Checkpoint, c.Variant)
	if strings.HasSuffix(c.B, ".safetensors") {
		var err error
		if saved, err = trace.Load(c.B, c.Case); err != nil {
			return err
		}
		if len(c.Variant) > 0 || c.ToCheck != "" {
			return errors.New("the second is a file of values: --variant and --to-checkpoint have no place beside it (--base-variant is for the first)")
		}
	} else if c.Case != "" {
		return errors.New("--case chooses from an oracle's .safetensors file, and the second is none")
	}
	if c.ToCheck != "" {
		second.Checkpoint = c.ToCheck
	}
	if saved == nil && c.Save == "" && c.B == "" && len(c.Variant) == 0 && c.ToCheck == "" {
		return errors.New("nothing to compare with: name a second graph, a --variant or --to-checkpoint for it, or a file of values; --save writes one")
	}
	if c.B == "" {
		second.Graph = first.Graph
	}
	a, err := c.run(ctx, t, first, saved)
	if err != nil {
		return t.unmade("first", err)
	}
	if c.Save != "" {
		if err := a.Save(c.Save); err != nil {
			return err
		}
		t.say("%d values in %s", len(a.Nodes), c.Save)
	}
	var b *trace.Record
	switch {
	case saved != nil:
		b = saved.Beside(a)
	case c.B == "" && len(c.Variant) == 0 && c.ToCheck == "":
		return nil // it was for --save
	default:
		c.Tokens = a.Tokens[0]
		if b, err = c.run(ctx, t, second, nil); err != nil {
			return t.unmade("second", err)
		}
	}
	return c.tell(t, a, b)
}

func (c *compareCmd) tell(t terminal, a, b *trace.Record) error {
	d, err := trace.Compare(a, b)
	if err != nil {
		return err
	}
	if c.JSON {
		err = d.WriteJSON(t.out)
	} else {
		err = d.WriteText(t.out, c.All)
	}
	if err == nil && !d.Same {
		err = exit(exitFindings)
	}
	return err
}

// side is what to open for a graph's or variant's file.
func (c *compareCmd) side(file, checkpoint string, variants []string) model.Options {
	o := model.Options{Checkpoint: checkpoint, Graph: file, Variants: variants, Exact: c.Exact, Force: c.Force, Device: c.Device, Apart: true, IDsOnly: c.Prompt == ""}
	if isVariant(file) {
		o.Graph, o.Variants = "", append(o.Variants[:len(o.Variants):len(o.Variants)], file)
	}
	return o
}

// run opens a model, records one forward and closes it.
func (c *compareCmd) run(ctx context.Context, t terminal, o model.Options, saved *trace.Saved) (*trace.Record, error) {
	bar := t.progress("opening", true, c.JSON)
	defer bar.end()
	o.OnWeights = bar.set
	m, err := model.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	bar.end()
	tokens, err := c.tokens(m, saved)
	if err != nil {
		return nil, err
	}
	name := m.Name()
	if p := m.Engine().Plan(); len(p.Variants) > 0 {
		name += " with " + strings.Join(p.Variants, ", ")
	}
	return trace.Run(ctx, m.Engine(), name, tokens, "logits")
}

func (c *compareCmd) tokens(m *model.Model, saved *trace.Saved) ([][]int32, error) {
	if saved != nil {
		if c.Prompt != "" || c.Tokens != nil {
			return nil, errors.New("the file of values says what they were computed from: --prompt and --tokens have no place beside it")
		}
		return saved.Tokens()
	}
	ids := c.Tokens
	var err error
	switch {
	case ids != nil:
	case c.Prompt != "":
		words, bad := m.Tokenizer()
		if bad != nil {
			return nil, bad
		}
		ids, err = words.EncodePrompt(c.Prompt)
	case c.Length < 1:
		err = fmt.Errorf("--length %d: at least one token is needed", c.Length)
	default:
		ids, err = m.SampleIDs(c.Length)
	}
	return [][]int32{ids}, err
}
