package adapter

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// Target is a weight that adapters may name.
type Target struct {
	Path            string
	Kind            string // of the port that multiplies with it
	Weight          int    // index into Plan.Weights
	Inputs, Outputs int
	Refused         string // why no adapter may touch it; "": one may
}

// Targets lists the weights of a plan's ports, in their order.
func Targets(p *plan.Plan) []Target {
	out := make([]Target, 0, len(p.Weights))
	place := map[int]int{}
	for i := range p.Ports {
		port := &p.Ports[i]
		for _, w := range port.Weights {
			if w < 0 || w >= len(p.Weights) {
				continue // of a broken plan, which the engine refuses
			}
			at, seen := place[w]
			if !seen {
				at = len(out)
				place[w] = at
				f := p.Weights[w].Facts
				out = append(out, Target{Path: p.Weights[w].Path, Kind: port.Kind, Weight: w, Inputs: f.Inputs, Outputs: f.Outputs})
			}
			if why := refused(port.Kind); why != "" {
				out[at].Kind, out[at].Refused = port.Kind, why
			}
		}
	}
	return out
}

// refused says why the weights of a kind of port take no adapter.
func refused(kind string) string {
	switch kind {
	case "embedding":
		return "adapters of embeddings, and of heads tied to them, are not supported"
	case "experts":
		return "adapters of experts are not supported"
	case "multi_linear":
		return "adapters of a matrix per head are not supported"
	}
	return ""
}

// names finds targets by the names that adapters use: the plan's own paths, and those of the stored tensors that a view
// gave another name.
type names struct {
	targets []Target
	exact   map[string]int
	loose   map[string]int    // without `language_model.`; -1: several
	made    map[string]string // stored modules that are not a weight by themselves: what is made of them
	all     []string          // of targets that take adapters, for suggestions
}

const towers = "language_model."

func namesOf(p *plan.Plan) *names {
	n := &names{targets: Targets(p), exact: map[string]int{}, loose: map[string]int{}, made: map[string]string{}}
	for i, t := range n.targets {
		n.exact[t.Path] = i
		if t.Refused == "" {
			n.all = append(n.all, t.Path)
		}
	}
	for i, t := range n.targets {
		w := &p.Weights[t.Weight]
		if w.Tensor < 0 || p.Tensors[w.Tensor].Recipe == nil {
			continue
		}
		recipe := p.Tensors[w.Tensor].Recipe
		whole := Stored(recipe)
		recipe.Sources(func(s *header.Tensor) {
			module := moduleOf(s.Name)
			if _, known := n.exact[module]; known {
				return
			}
			if whole != nil {
				n.exact[module] = i
			} else {
				n.made[module] = t.Path
			}
		})
	}
	for name, i := range n.exact {
		short := strings.Replace(name, towers, "", 1)
		if other, ok := n.loose[short]; ok && other != i {
			i = -1
		}
		n.loose[short] = i
	}
	slices.Sort(n.all)
	return n
}

func moduleOf(name string) string {
	for _, part := range []string{".weight_packed", ".weight", ".scales", ".biases", ".qweight"} {
		if module, ok := strings.CutSuffix(name, part); ok {
			return module
		}
	}
	return name
}

// Stored is the tensor that a weight is, rows and columns in their places; nil where it is made otherwise.
func Stored(r *view.Recipe) *header.Tensor {
	for {
		switch r.Op {
		case view.OpSource:
			return r.Tensor
		case view.OpAstype, view.OpContiguous, view.OpDequantize, view.OpFP8:
			r = r.Inputs[0]
		default:
			return nil
		}
	}
}

// find is the target that an adapter's module is, or -1.
func (n *names) find(module string) int {
	module = strings.TrimPrefix(module, "base_model.model.")
	if i, ok := n.exact[module]; ok {
		return i
	}
	if i, ok := n.loose[strings.Replace(module, towers, "", 1)]; ok {
		return i
	}
	return -1
}
