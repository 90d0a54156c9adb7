package quantize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/adapter"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// Fused is the format of a weight that adapters are added to.
const Fused = "fused"

// Merge is an adapter that is added to a checkpoint's weights.
type Merge struct {
	Adapter  *adapter.Adapter // read for Fuse's plan
	Strength float64          // what its scale is multiplied by: 1 is as it was trained
}

// merge is an adapter's pair for one weight.
type merge struct {
	files *weights.Files
	a, b  *view.Recipe // [inputs, rank], [rank, outputs]
	scale float64
}

// Fuse writes the checkpoint with adapters added to its weights, as mlx_lm.fuse does: the weight is dequantised, the sum
// ((scale * B^T) @ A^T) of each adapter is rounded to its dtype and added, and the result is stored as the weight was; dense
// leaves the merged weights dense. Plan says which stored tensors a model's weights are. Of Options it takes Source, Target,
// Files, ShardBytes and Progress.
func Fuse(ctx context.Context, o Options, p *plan.Plan, list []Merge, dense bool) (*Report, error) {
	if !mlx.Available {
		return nil, mlx.ErrNoMLX
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("no adapter is named")
	}
	c := &chooser{ck: o.Source, plan: &Plan{}}
	byPath := map[string]*task{}
	var refused []string
	for _, m := range list {
		files, err := weights.OpenFiles(m.Adapter.Checkpoint)
		if err != nil {
			return nil, err
		}
		defer files.Close()
		for _, f := range m.Adapter.Factors {
			path, err := storedAs(p, f)
			if err == nil && byPath[path] == nil {
				byPath[path], err = c.fused(path, dense)
			}
			if err != nil {
				refused = append(refused, fmt.Sprintf("%s: %v", f.Path, err))
				continue
			}
			byPath[path].merges = append(byPath[path].merges, merge{files, f.A, f.B, f.Scale * m.Strength})
		}
	}
	if refused != nil {
		return nil, fmt.Errorf("adapters cannot be fused into %s:\n  %s", o.Source.Path, strings.Join(refused[:min(len(refused), 12)], "\n  "))
	}
	var tasks []*task
	taken := map[string]bool{}
	for i := range o.Source.Tensors {
		path, ok := strings.CutSuffix(o.Source.Tensors[i].Name, ".weight")
		if t := byPath[path]; ok && t != nil {
			tasks = append(tasks, t)
			for _, part := range []string{"weight", "scales", "biases"} {
				taken[path+"."+part] = true
			}
		}
	}
	tasks = append(tasks, c.kept(taken)...)
	return o.run(ctx, tasks)
}

// storedAs is the path of the stored weight that a factor's weight is.
func storedAs(p *plan.Plan, f adapter.Factor) (string, error) {
	w := &p.Weights[f.Weight]
	if w.Tensor < 0 || p.Tensors[w.Tensor].Recipe == nil {
		return "", errors.New("the plan was composed without a checkpoint")
	}
	t := adapter.Stored(p.Tensors[w.Tensor].Recipe)
	if t == nil {
		return "", errors.New("the model's view makes it of other tensors than itself, which a merged checkpoint cannot hold")
	}
	path, ok := strings.CutSuffix(t.Name, ".weight")
	if !ok {
		return "", fmt.Errorf("it is stored as %s, which has no weight's name", t.Name)
	}
	return path, nil
}

// fused is the task of a weight that adapters are added to; dense: stored so.
func (c *chooser) fused(path string, dense bool) (*task, error) {
	t, ok := c.ck.Lookup(path + ".weight")
	if !ok {
		return nil, fmt.Errorf("the checkpoint has no %s.weight", path)
	}
	w, ok := c.weight(path, t)
	if !ok {
		return nil, fmt.Errorf("%s is stored in a form that is not written here: fuse into the checkpoint that it was made from", t.Name)
	}
	out := &task{path: path, format: Fused, from: w.dense(false), weights: elements(w.shape)}
	if w.quant == nil || dense {
		d := out.from.Dtype
		out.outputs = []*output{{name: path + ".weight", element: header.ElementName(d), shape: w.shape, bytes: elements(w.shape) * int64(d.Size())}}
		out.opened = w.quant != nil
		return out, nil
	}
	out.quant = *w.quant
	for _, part := range w.parts {
		out.outputs = append(out.outputs, &output{name: part.Name, element: header.ElementName(part.Dtype), shape: part.Shape, bytes: part.Bytes()})
	}
	return out, nil
}

// fuse adds the adapters of a task to its weight and gives the bytes of its tensors.
func (m *maker) fuse(ctx context.Context, t *task) (out [][]byte, err error) {
	err = m.open(ctx, []*view.Recipe{t.from}, func(a []mlx.Array) error {
		stream, err := mlx.DefaultStream(mlx.DeviceCPU)
		if err != nil {
			return err
		}
		scope := mlx.NewScope(stream)
		defer scope.Free()
		w := a[0]
		for _, x := range t.merges {
			f, err := x.files.Load(ctx, scope, []*view.Recipe{x.a, x.b}, weights.Options{})
			if err != nil {
				return err
			}
			scale, err := mlx.ScalarOf(x.scale, f[1].Dtype())
			if err != nil {
				return err
			}
			delta := scope.Matmul(scope.Multiply(scope.Own(scale), scope.Transpose(f[1])), scope.Transpose(f[0]))
			w = scope.Add(w, scope.Astype(delta, w.Dtype()))
		}
		parts := []mlx.Array{w}
		if t.quant.Bits > 0 {
			parts = scope.Quantize(w, t.quant.GroupSize, t.quant.Bits, t.quant.Mode, mlx.Array{})
		}
		if err := scope.Err(); err != nil {
			return err
		}
		if len(parts) < len(t.outputs) {
			return fmt.Errorf("quantising gave %d tensors, %d are wanted", len(parts), len(t.outputs))
		}
		for i := range t.outputs {
			b, err := parts[i].Bytes()
			if err != nil {
				return err
			}
			out = append(out, b)
		}
		return nil
	})
	m.step(t.weights)
	return out, err
}

// mergeFiles are the adapters' files that tasks read.
func mergeFiles(tasks []*task) []string {
	var out []string
	for _, t := range tasks {
		for _, x := range t.merges {
			x.a.Sources(func(s *header.Tensor) {
				if !slices.Contains(out, s.File) {
					out = append(out, s.File)
				}
			})
		}
	}
	return out
}

// text tells one merge from another.
func (x *merge) text() string {
	out := fmt.Sprint(x.scale)
	for _, r := range []*view.Recipe{x.a, x.b} {
		r.Sources(func(s *header.Tensor) { out += fmt.Sprintf(" %s %s %v", s.File, s.Name, r.Shape) })
	}
	return out
}
