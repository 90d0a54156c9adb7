package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/mlx"
)

// Tensors are evaluated in batches of about this many bytes: repacking takes memory beside the result, and a batch's
// is given back before the next begins. Without a bound the peak would be the checkpoint twice.
const (
	loadBatchBytes = 128 << 20
	loadBatchCount = 256
)

// load opens the plan's tensors, each once.
func (e *Engine) load(ctx context.Context, loader Loader) error {
	p := e.plan
	var total, done int64
	for i := range p.Tensors {
		total += p.Tensors[i].Bytes()
	}
	report := func() {
		if e.options.OnProgress != nil {
			e.options.OnProgress(done, total)
		}
	}
	report()
	e.tensors = make([]mlx.Array, len(p.Tensors))
	first, bytes := 0, int64(0)
	for i := range p.Tensors {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.loadOne(loader, i); err != nil {
			return err
		}
		bytes += p.Tensors[i].Bytes()
		if i+1 < len(p.Tensors) && bytes < loadBatchBytes && i+1-first < loadBatchCount {
			continue
		}
		if err := e.finishBatch(first, i+1); err != nil {
			return err
		}
		done += bytes
		first, bytes = i+1, 0
		report()
	}
	return nil
}

// loadOne makes one tensor, perhaps lazily, and holds it to the plan.
func (e *Engine) loadOne(loader Loader, i int) error {
	t := &e.plan.Tensors[i]
	fail := func(err error) error {
		path, where := e.tensorPlace(i)
		return at(path, where, fmt.Errorf("tensor %s: %w", t.Name, err))
	}
	if t.Recipe == nil || loader == nil {
		return fail(errors.New("the plan was composed without a checkpoint; it can be checked but not run"))
	}
	a, err := loader.Make(e.scope, t.Recipe)
	if err = errors.Join(err, e.scope.ResetErr()); err != nil {
		return fail(err)
	}
	if !a.Valid() {
		return fail(errors.New("the checkpoint gave no array"))
	}
	e.scope.Keep(a)
	e.tensors[i] = a
	if got := a.Dtype(); got != t.Dtype {
		return fail(fmt.Errorf("is %s in the checkpoint, the plan has %s", got, t.Dtype))
	}
	if got := a.Shape(); !slices.Equal(got, t.Shape) {
		return fail(fmt.Errorf("has shape %v in the checkpoint, the plan has %v", got, t.Shape))
	}
	return nil
}

// finishBatch evaluates the tensors from first to end and gives back what only making them took.
func (e *Engine) finishBatch(first, end int) error {
	e.scope.Free()
	if err := mlx.Eval(e.tensors[first:end]...); err != nil {
		names := e.plan.Tensors[first].Name
		if end-first > 1 {
			names += " to " + e.plan.Tensors[end-1].Name
		}
		return fmt.Errorf("opening tensors %s: %w", names, err)
	}
	return mlx.ClearCache()
}
