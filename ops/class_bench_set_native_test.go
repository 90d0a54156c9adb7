//go:build cgo && mlx

package ops

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	codec "github.com/graphrun/graphrun/trellis"
)

// timed lists classes, those whose names are wanted, with weights.
func (r trellisRig) timed(reg *registry.Registry, wanted func(class string) bool) []timed {
	kinds := []struct {
		name string
		make func(seed, out, in int) registry.Opened
	}{
		{"affine 4 bits g32", func(seed, out, in int) registry.Opened {
			return quantised(r.rig, r.normal(dtype.Float16, seed, out, in), "affine", 4, 32)
		}},
		{"codes", func(seed, out, in int) registry.Opened { return r.blocks(seed, 1, out, in) }},
		{"codes along the outputs", func(seed, out, in int) registry.Opened { return r.blocks(seed, 0, out, in) }},
		{"float16", func(seed, out, in int) registry.Opened {
			return denseWeight(r.normal(dtype.Float16, seed, out, in), mlx.Array{})
		}},
	}
	type roles = map[string]registry.Opened
	experts := func(seed int) roles {
		part := func(seed, out, in int) registry.Opened {
			return quantised(r.rig, r.normal(dtype.Float16, seed, benchExperts, out, in), "affine", 4, 32)
		}
		return roles{"gate_proj": part(seed, benchOut/4, benchIn), "up_proj": part(seed+1, benchOut/4, benchIn), "down_proj": part(seed+2, benchIn, benchOut/4)}
	}
	// Sets of weights of a port, by kind.
	sets := map[string][]func(seed int) roles{}
	for _, k := range kinds {
		sets["linear"] = append(sets["linear"], func(seed int) roles { return roles{"weight": k.make(seed, benchOut, benchIn)} })
		sets["gate_up"] = append(sets["gate_up"], func(seed int) roles {
			return roles{"gate_proj": k.make(seed, benchOut, benchIn), "up_proj": k.make(seed+1, benchOut, benchIn)}
		})
		down := k
		if k.name == "codes" {
			down = kinds[2]
		}
		sets["mlp"] = append(sets["mlp"], func(seed int) roles {
			return roles{"gate_proj": k.make(seed, benchOut, benchIn), "up_proj": k.make(seed+1, benchOut, benchIn), "down_proj": down.make(seed+2, benchIn, benchOut)}
		})
		sets["group"] = append(sets["group"], func(seed int) roles {
			return roles{"q": k.make(seed, 1024, benchIn), "k": k.make(seed+1, 512, benchIn), "v": k.make(seed+2, 512, benchIn)}
		})
	}
	sets["experts"] = append(sets["experts"], experts)
	var out []timed
	add := func(name string, class *registry.Class, set func(seed int) roles, build func(w roles) registry.Run) {
		t := timed{name: name, min: class.MinRows, max: class.MaxRows}
		mark := r.scope.Mark()
		for total := int64(0); total < benchSet; total += t.bytes {
			w := set(10 * len(t.runs))
			t.bytes, t.weights = 0, 0
			for role, o := range w {
				t.weights += numbersIn(o)
				for _, a := range []*mlx.Array{&o.Weight, &o.Scales, &o.Biases} {
					if a.Valid() {
						r.keep(*a)
						require.NoError(r.t, mlx.Eval(*a))
						t.bytes += int64(a.Nbytes())
					}
				}
				w[role] = o
			}
			t.runs = append(t.runs, build(w))
		}
		if w := set(0); w["down_proj"].Facts.Count > 0 {
			t.experts, t.weights = benchExperts, t.weights*benchChosen
		}
		r.scope.ReleaseTo(mark)
		out = append(out, t)
	}
	act := func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{r.workers.SwiGLU(c.Scope, in[0], in[1])}
	}
	bind := func(name, kind string, w roles, change func(*registry.ClassBuild)) registry.Run {
		return r.bind(name, kind, w, func(b *registry.ClassBuild) {
			b.Roles = []string{"q", "k", "v"}
			if change != nil {
				change(b)
			}
		})
	}
	for _, class := range reg.Classes() {
		if !class.HasKernel("cpu") || class.Parts != nil || !wanted(class.Name) {
			continue
		}
		kind := class.Kinds[0]
		for i, set := range sets[kind] {
			facts := map[string]plan.Facts{}
			for role, o := range set(0) {
				facts[role] = o.Facts
			}
			if class.Accept(kind, facts) != nil {
				continue
			}
			name := class.Name
			if len(class.Kinds) == 1 && kind == "mlp" {
				name += " " + kinds[i].name
			}
			add(name, class, set, func(w roles) registry.Run {
				run := bind(class.Name, kind, w, nil)
				if kind == "experts" {
					run = r.choosing(run)
				}
				return run
			})
			if kind != "mlp" {
				break
			}
		}
	}
	if wanted("experts") { // the class beside it
		exact := reg.ExactClass("experts", "affine")
		add(exact.Name+" experts", exact, experts, func(w roles) registry.Run {
			return r.choosing(r.bind(exact.Name, "experts", w, func(b *registry.ClassBuild) { b.Activation = act }))
		})
	}
	linear := func(name string, w registry.Opened) registry.Run {
		return bind(name, "linear", roles{"weight": w}, nil)
	}
	for _, f := range []struct {
		class, kind, parts string
		set                int
	}{
		{"group.unfused", "group", "affine.rows_q16", 0}, {"group.unfused", "group", "affine.panels_q16", 0},
		{"mlp.unfused", "mlp", "affine.rows_q16", 0}, {"mlp.unfused", "mlp", "affine.panels_q16", 0},
		{"gate_up.unfused", "gate_up", "trellis.tiled", 1}, {"gate_up.unfused", "gate_up", "trellis.expand_reduce", 1},
		{"mlp.unfused", "mlp", "trellis.reduce trellis.scatter", 1}, {"mlp.unfused", "mlp", "trellis.tiled trellis.split_k", 1},
		{"mlp.unfused", "mlp", "trellis.expand_reduce trellis.expand_scatter", 1}, {"mlp.gate_down", "mlp", "trellis.gate_up trellis.scatter", 1},
	} {
		if !wanted(f.class) {
			continue
		}
		parts := strings.Fields(f.parts)
		limits := *reg.Class(parts[0])
		add(f.class+" "+f.parts, &limits, sets[f.kind][f.set], func(w roles) registry.Run {
			b := &registry.ClassBuild{Kind: f.kind, Weights: w, Parts: map[string]registry.Run{}, Activation: act, Workers: r.workers, Scope: r.scope, Keep: r.keep, Roles: []string{"q", "k", "v"}}
			for role, o := range w {
				switch {
				case role == "down_proj":
					b.Parts[role] = linear(parts[len(parts)-1], o)
				case f.class != "mlp.gate_down":
					b.Parts[role] = linear(parts[0], o)
				}
			}
			if f.class == "mlp.gate_down" {
				b.Parts["gate_up"] = bind(parts[0], "gate_up", roles{"gate_proj": w["gate_proj"], "up_proj": w["up_proj"]}, nil)
			}
			run, err := reg.Class(f.class).Build(b)
			require.NoError(r.t, err)
			return run
		})
	}
	return out
}

// blocks is a weight of random codes of 4 bits in blocks of 256.
func (r trellisRig) blocks(seed, axis, out, in int) registry.Opened {
	g := codec.Geometry{Bits: 4, Block: 256, Axis: axis, Layout: codec.Row, Rows: out, Columns: in}
	if axis == 0 {
		g.Rows, g.Columns = in, out
	}
	w, _, _ := r.codes(g, uint64(seed))
	return w
}

// choosing gives each row of x the experts that follow on those of the row before.
func (r trellisRig) choosing(run registry.Run) registry.Run {
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		rows := in[0].Dim(1)
		key := [2]any{"chosen", rows}
		indices, ok := r.memo[key].(mlx.Array)
		if !ok {
			numbers := make([]int32, rows*benchChosen)
			for i := range numbers {
				numbers[i] = int32(i % benchExperts)
			}
			made, err := mlx.FromInt32s(numbers, 1, rows, benchChosen)
			require.NoError(r.t, err)
			r.scope.Own(made)
			indices = r.keep(r.scope.Astype(made, mlx.Uint32))
			require.NoError(r.t, mlx.Eval(indices))
			r.memo[key] = indices
		}
		return run(c, []mlx.Array{in[0], indices})
	}
}

// numbersIn are the numbers of a weight.
func numbersIn(o registry.Opened) int64 {
	if o.Facts.Storage == "dense" {
		return int64(o.Weight.Size())
	}
	return int64(o.Facts.Inputs) * int64(o.Facts.Outputs)
}
