package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/view"
)

// Tensors are opened in batches of about this many bytes: computing and unpacking take memory beside the result, and a
// batch's is given back before the next begins. Without a bound the peak would be the checkpoint twice.
const loadBatchBytes = 256 << 20

// load opens the plan's tensors, each once.
func (e *Engine) load(ctx context.Context, loader Loader) error {
	tensors := e.plan.Tensors
	for i := range tensors {
		if tensors[i].Recipe == nil || loader == nil {
			return e.tensorError(i, errors.New("the plan was composed without a checkpoint; it can be checked but not run"))
		}
	}
	p := newProgress(e.options.OnProgress, tensors)
	e.tensors = make([]mlx.Array, len(tensors))
	for first := 0; first < len(tensors); {
		end := batchEnd(first, len(tensors), func(i int) string { return tensors[i].Name }, func(i int) int64 { return tensors[i].Bytes() })
		if err := e.loadBatch(ctx, loader, first, end, p); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// batchEnd is where a batch that begins at first ends: after enough bytes, at the end of a module, since a weight's
// codes, scales and zero points may come from the same stored blocks.
func batchEnd(first, n int, name func(int) string, size func(int) int64) int {
	bytes := int64(0)
	for i := first; i < n; i++ {
		if bytes >= loadBatchBytes && module(name(i)) != module(name(i-1)) {
			return i
		}
		bytes += size(i)
	}
	return n
}

func module(name string) string { return name[:strings.LastIndexByte(name, '.')+1] }

func (e *Engine) loadBatch(ctx context.Context, loader Loader, first, end int, p *progress) error {
	var recipes []*view.Recipe
	var bytes int64
	for i := first; i < end; i++ {
		recipes = append(recipes, e.plan.Tensors[i].Recipe)
		bytes += e.plan.Tensors[i].Bytes()
	}
	arrays, err := loader.Load(ctx, e.scope, recipes, weights.Options{ReadAhead: true, Progress: p.part(bytes)})
	if scope := e.scope.ResetErr(); err == nil {
		err = scope
	}
	if err == nil && len(arrays) != len(recipes) {
		err = fmt.Errorf("the checkpoint gave %d arrays for %d tensors", len(arrays), len(recipes))
	}
	if err != nil {
		e.scope.Free()
		return err
	}
	for i, a := range arrays {
		if err := e.hold(first+i, a); err != nil {
			e.scope.Free()
			return err
		}
	}
	e.scope.Free()
	if err := mlx.Eval(e.tensors[first:end]...); err != nil {
		return fmt.Errorf("opening %s to %s: %w", e.plan.Tensors[first].Name, e.plan.Tensors[end-1].Name, err)
	}
	p.finish(bytes)
	return mlx.ClearCache()
}

// hold takes a tensor's array and holds it to the plan.
func (e *Engine) hold(i int, a mlx.Array) error {
	t := &e.plan.Tensors[i]
	if !a.Valid() {
		return e.tensorError(i, errors.New("the checkpoint gave no array"))
	}
	if e.kept[a] {
		a = e.scope.Own(a.Clone()) // two tensors of one recipe are two handles
	}
	e.scope.Keep(a)
	e.kept[a] = true
	e.tensors[i] = a
	if got := a.Dtype(); got != t.Dtype {
		return e.tensorError(i, fmt.Errorf("is %s in the checkpoint, the plan has %s", got, t.Dtype))
	}
	if got := a.Shape(); !slices.Equal(got, t.Shape) {
		return e.tensorError(i, fmt.Errorf("has shape %v in the checkpoint, the plan has %v", got, t.Shape))
	}
	return nil
}

func (e *Engine) tensorError(i int, err error) error {
	path, where := e.tensorPlace(i)
	return at(path, where, fmt.Errorf("tensor %s: %w", e.plan.Tensors[i].Name, err))
}

// progress adds the batches' progress up, in bytes of the plan's tensors.
type progress struct {
	mu                sync.Mutex
	tell              func(done, total int64)
	done, told, total int64
}

func newProgress(tell func(done, total int64), tensors []plan.Tensor) *progress {
	p := &progress{tell: tell}
	for i := range tensors {
		p.total += tensors[i].Bytes()
	}
	if tell != nil {
		tell(0, p.total)
	}
	return p
}

// part is the progress of a batch: the loader counts stored bytes, of which that many bytes of tensors are made.
func (p *progress) part(bytes int64) func(done, total int64) {
	if p.tell == nil {
		return nil
	}
	return func(done, total int64) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if total > 0 {
			p.to(p.done + int64(float64(bytes)*float64(done)/float64(total)))
		}
	}
}

func (p *progress) finish(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += bytes
	p.to(p.done)
}

// to tells a new number; the workers' come in any order.
func (p *progress) to(done int64) {
	if p.tell != nil && done > p.told {
		p.told = done
		p.tell(done, p.total)
	}
}
