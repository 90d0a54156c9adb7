package draft

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/explain/tensors"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// fit is how well a model file suits a config and a checkpoint's tensors. Names that differ in numbers alone count once, so
// that a deep model is no worse than a shallow one.
type fit struct {
	errors     []*diag.Diagnostic // that keep the graph from being made for the config
	used       int                // tensors of the checkpoint that the graph uses
	missing    []string           // that it wants
	unused     []string
	mismatched []string // with both shapes
	unasked    []string // config keys
	list       *tensors.List
}

// faults is what a choice among models makes small.
func (f *fit) faults() int { return len(f.missing) + len(f.unused) + len(f.mismatched) }

// better tells whether f suits better than g.
func (f *fit) better(g *fit) bool {
	switch {
	case g == nil:
		return true
	case len(f.errors) != len(g.errors):
		return len(f.errors) < len(g.errors)
	case f.faults() != g.faults():
		return f.faults() < g.faults()
	case f.used != g.used:
		return f.used > g.used
	}
	return len(f.unasked) < len(g.unasked)
}

// measure composes a text as a model file, for the config alone and held to the tensors.
func measure(ctx context.Context, r compose.Request, text string) (*fit, error) {
	ck := r.Checkpoint
	r.Graph, r.Model, r.Force, r.Exact, r.Checkpoint = draftPath, "", true, true, nil
	r.Overlay = map[string][]byte{draftPath: []byte(text)}
	r.Variants, r.Rules, r.Memory = nil, nil, nil
	alone, err := compose.Compose(ctx, r)
	if err != nil {
		return nil, err
	}
	f := &fit{}
	for _, d := range alone.Diagnostics.Sorted() {
		if d.Severity == diag.Error {
			f.errors = append(f.errors, d)
		}
	}
	if alone.Plan == nil {
		return f, nil
	}
	f.unasked = alone.Plan.Unasked
	if ck == nil {
		return f, nil
	}
	r.Checkpoint = ck
	held, err := compose.Compose(ctx, r)
	if err != nil {
		return nil, err
	}
	if held.Audit == nil {
		for _, d := range held.Diagnostics.Sorted() {
			if d.Severity == diag.Error {
				f.errors = append(f.errors, d)
			}
		}
		return f, nil
	}
	f.list = tensors.Make(ck, held.Model, &compose.Audit{View: held.Audit.View}, alone.Plan)
	for _, w := range f.list.Unused() {
		f.unused = note(f.unused, w.Name)
	}
	for _, w := range f.list.Missing {
		f.missing = note(f.missing, w.Name)
	}
	f.used = len(f.list.Weights) - len(f.list.Unused())
	f.shapes(alone.Plan, held.Audit.View)
	return f, nil
}

// draftPath is the place of a draft while it is tried: in no folder, so that nothing is found beside it.
var draftPath = filepath.Join(string(filepath.Separator), "graphrun-draft", "draft.yaml")

func note(list []string, name string) []string {
	if p := explain.Pattern(name); !slices.Contains(list, p) {
		list = append(list, p)
	}
	return list
}

// shapes compares the tensors that are there with those that the graph wants, quantised ones as what they stand for.
func (f *fit) shapes(wanted *plan.Plan, v *view.Result) {
	byName := map[string]int{}
	for i, t := range wanted.Tensors {
		byName[t.Name] = i
	}
	for i := range f.list.Weights {
		w := &f.list.Weights[i]
		n, ok := byName[w.Name]
		if !ok || strings.HasSuffix(w.Name, ".scales") || strings.HasSuffix(w.Name, ".biases") {
			continue
		}
		have, want := w.Shape, wanted.Tensors[n].Shape
		if w.Quant != nil {
			have = unpacked(have, w.Quant)
		}
		for _, x := range wanted.Weights {
			if x.Tensor == n && x.Facts.Storage == "affine" {
				want = unpacked(want, &header.Quant{Bits: x.Facts.Bits})
			}
		}
		if !slices.Equal(have, want) {
			f.mismatched = append(f.mismatched, explain.Pattern(w.Name)+" is "+dims(have)+", the graph wants "+dims(want))
		}
	}
	slices.Sort(f.mismatched)
	f.mismatched = slices.Compact(f.mismatched)
}

// unpacked is the shape that a quantised weight stands for.
func unpacked(shape []int, q *header.Quant) []int {
	if len(shape) == 0 || q.Bits <= 0 {
		return shape
	}
	out := slices.Clone(shape)
	out[len(out)-1] = out[len(out)-1] * 32 / q.Bits
	return out
}
