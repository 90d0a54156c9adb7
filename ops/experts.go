package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// sortFrom is the number of indices from which mlx-lm orders rows by expert, so that each expert's weights are read once.
const sortFrom = 64

const expertsDoc = " Of experts [count, out, in] each row of x [.., in] goes through the k experts that its indices [.., k] name, result [.., k, in]: " +
	"up, then gate, the activation, down, each with its bias where there is one; rows are sorted by expert from 64 indices up " +
	"(mlx_lm/models/switch_layers.py, SwitchGLU). A fused gate_up is one product that is then halved, gate first. " +
	"Weights of experts may be stored differently: each is computed with as it is stored."

// gathered multiplies rows [.., 1, in] by the matrices that indices name.
type gathered func(c *registry.Call, x, indices mlx.Array, sorted bool) mlx.Array

// experts makes the function of x and indices.
func experts(b *registry.ClassBuild) (registry.Run, error) {
	gateUp, err := expertsGateUp(b)
	if err != nil {
		return nil, err
	}
	down, err := gatherOf(b, "down_proj")
	if err != nil {
		return nil, err
	}
	act := b.Activation
	if act == nil {
		return nil, fmt.Errorf("experts have an activation")
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		rows, order := c.ExpandDimsAxes(in[0], []int{-2, -3}), in[1]
		sorted := in[1].Size() >= sortFrom
		var back mlx.Array
		if sorted {
			rows, order, back = sortByExpert(c, rows, in[1])
		}
		pair := gateUp(c, rows, order, sorted)
		if len(pair) != 2 {
			return []mlx.Array{{}}
		}
		y := down(c, act(c, pair)[0], order, sorted)
		if sorted {
			y = c.Unflatten(c.TakeAxis(y, back, 0), 0, in[1].Shape())
		}
		return []mlx.Array{c.SqueezeAxis(y, -2)}
	}, nil
}

// sortByExpert gives the rows in the order of their experts, these in order, and where each row came from.
func sortByExpert(c *registry.Call, rows, indices mlx.Array) (sorted, experts, back mlx.Array) {
	flat := c.Flatten(indices, 0, -1)
	order := c.ArgsortAxis(flat, -1)
	each, err := mlx.ScalarOf(float64(indices.Dim(-1)), dtype.Uint32)
	c.Fail(err)
	row := c.FloorDivide(order, c.Own(each))
	return c.TakeAxis(c.Flatten(rows, 0, -3), row, 0), c.TakeAxis(flat, order, 0), c.ArgsortAxis(order, -1)
}

// expertsGateUp gives gate and up; up is the first that mlx-lm asks for.
func expertsGateUp(b *registry.ClassBuild) (func(c *registry.Call, x, indices mlx.Array, sorted bool) []mlx.Array, error) {
	if _, fused := b.Weights["gate_up"]; fused {
		both, err := gatherOf(b, "gate_up")
		if err != nil {
			return nil, err
		}
		return func(c *registry.Call, x, indices mlx.Array, sorted bool) []mlx.Array {
			return c.Split(both(c, x, indices, sorted), 2, -1)
		}, nil
	}
	gate, err := gatherOf(b, "gate_proj")
	if err != nil {
		return nil, err
	}
	up, err := gatherOf(b, "up_proj")
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, x, indices mlx.Array, sorted bool) []mlx.Array {
		u := up(c, x, indices, sorted)
		return []mlx.Array{gate(c, x, indices, sorted), u}
	}, nil
}

// gatherOf makes the product with one of the stacked weights, by its storage, its bias after it.
func gatherOf(b *registry.ClassBuild, role string) (gathered, error) {
	w, ok := b.Weights[role]
	if !ok || !w.Weight.Valid() {
		return nil, fmt.Errorf("experts were given no %s", role)
	}
	if n := w.Weight.Ndim(); n != 3 {
		return nil, fmt.Errorf("%s has %s; [count, out, in] is wanted", role, count(n, "axis", "axes"))
	}
	var run gathered
	var err error
	switch {
	case w.Facts.Storage == "dense":
		run, err = gatherDense(b, w.Weight)
	case !w.Scales.Valid():
		return nil, fmt.Errorf("%s is quantised and was given no scales", role)
	default:
		run, err = gatherQuantised(b, w)
	}
	if err != nil || !w.Bias.Valid() {
		return run, err
	}
	return func(c *registry.Call, x, indices mlx.Array, sorted bool) mlx.Array {
		return c.Add(run(c, x, indices, sorted), c.ExpandDims(c.TakeAxis(w.Bias, indices, 0), -2))
	}, nil
}

func gatherQuantised(b *registry.ClassBuild, w registry.Opened) (gathered, error) {
	f, steps := w.Facts, newSteps(b, w)
	ours, err := newInOrderExperts(b, w)
	return func(c *registry.Call, x, indices mlx.Array, sorted bool) mlx.Array {
		if y, ok := ours.gather(c, x, indices); ok {
			return y
		}
		scales, biases := steps.of(c, x)
		return c.GatherQMM(x, w.Weight, scales, biases, mlx.Array{}, indices, true, f.Group, f.Bits, f.Mode, sorted)
	}, err
}

func gatherDense(b *registry.ClassBuild, w mlx.Array) (gathered, error) {
	if b.Device.Kind != "gpu" && w.Dtype() != dtype.Float32 {
		return gatherRounded(w), nil
	}
	turned := b.Scope.Swapaxes(w, -1, -2)
	if err := b.Scope.Err(); err != nil {
		return nil, err
	}
	turned = b.Keep(turned)
	onCPU := b.Device.Kind != "gpu"
	return func(c *registry.Call, x, indices mlx.Array, sorted bool) mlx.Array {
		if onCPU { // of float32 weights: rows of another dtype are promoted to it
			x = c.Astype(x, dtype.Float32)
		}
		return c.GatherMM(x, turned, mlx.Array{}, indices, sorted)
	}, nil
}

// gatherRounded is gather_mm of half precision on the CPU, where MLX has it in float32 alone: a float32 product, rounded
// once to the promoted dtype. Where fewer matrices are asked for than there are, only those are made float32.
func gatherRounded(w mlx.Array) gathered {
	all := w.Dim(0)
	return func(c *registry.Call, x, indices mlx.Array, sorted bool) mlx.Array {
		wide, which := w, indices
		if n := indices.Size(); n < all {
			wide = c.TakeAxis(w, c.Flatten(indices, 0, -1), 0)
			which = c.Reshape(c.Arange(0, float64(n), 1, dtype.Uint32), indices.Shape())
		}
		wide = c.Swapaxes(c.Astype(wide, dtype.Float32), -1, -2)
		y := c.GatherMM(c.Astype(x, dtype.Float32), wide, mlx.Array{}, which, sorted)
		return c.Astype(y, dtype.Promote(x.Dtype(), w.Dtype()))
	}
}

// acceptExperts checks the stacked weights of experts for the class of one of their storages.
func acceptExperts(class string, weights map[string]plan.Facts) error {
	own := false
	for _, role := range sortedRoles(weights) {
		f := weights[role]
		var err error
		switch {
		case f.Count < 1:
			err = fmt.Errorf("%s is one matrix; a port of kind experts has one per expert, [count, out, in]", role)
		case f.Storage == "dense":
			err = acceptNumbers(role, f)
		case f.Storage == "affine":
			err = acceptQuantised(role, f)
		default:
			err = fmt.Errorf("%s is stored as %s; experts take dense weights and MLX's quantised layout", role, f.Storage)
		}
		if err != nil {
			return err
		}
		own = own || f.Storage == class
	}
	if !own {
		return fmt.Errorf("none of the weights is stored as %s", class)
	}
	return acceptShapes(weights)
}

// acceptShapes checks that the parts go together: as many experts, the widths between them equal.
func acceptShapes(weights map[string]plan.Facts) error {
	down, ok := weights["down_proj"]
	if !ok {
		return fmt.Errorf("experts have a down_proj")
	}
	width, first := down.Inputs, []string{"gate_proj", "up_proj"}
	if _, fused := weights["gate_up"]; fused {
		width, first = 2*down.Inputs, []string{"gate_up"}
	}
	for _, role := range first {
		f, ok := weights[role]
		switch {
		case !ok:
			return fmt.Errorf("experts have a gate_proj and an up_proj, or one gate_up; there is no %s", role)
		case f.Count != down.Count:
			return fmt.Errorf("%s has %s and down_proj %d; as many are wanted", role, count(f.Count, "expert", "experts"), down.Count)
		case f.Outputs != width || f.Inputs != down.Outputs:
			return fmt.Errorf("%s is [%d, %d] an expert, which does not go with down_proj [%d, %d]", role, f.Outputs, f.Inputs, down.Outputs, down.Inputs)
		}
	}
	return nil
}
