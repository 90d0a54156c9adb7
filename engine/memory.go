package engine

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// Item is one line of a memory estimate.
type Item struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Estimate is what a plan takes in memory before it is opened.
type Estimate struct {
	Items   []Item `json:"items"`
	Total   int64  `json:"total"`
	Context int    `json:"context"` // positions per sequence
	Batch   int    `json:"batch"`
	Chunk   int    `json:"chunk"` // prompt tokens per forward

	perPosition, fixed int64 // of all states and sequences
}

// Demand is what memory is estimated for.
type Demand struct {
	Context int    // positions of each sequence
	Batch   int    // sequences
	Chunk   int    // most new tokens of each in one forward
	Device  string // cpu, gpu
}

// EstimateMemory is EstimateFor on the CPU, which needs the most.
func EstimateMemory(p *plan.Plan, r *registry.Registry, context, batch, chunk int) (Estimate, error) {
	return EstimateFor(p, r, Demand{context, batch, chunk, "cpu"})
}

// EstimateFor adds up a plan: the weights by their storage, the states at a context of that many positions, and
// the largest set of values that one forward holds at once, of a prompt chunk or a decode step. The last is an
// estimate: it counts the values between calls, what a port's weights put out, and on the CPU, where MLX has no fused
// kernel for it, attention's scores; not what kernels need inside.
func EstimateFor(p *plan.Plan, r *registry.Registry, d Demand) (Estimate, error) {
	e := Estimate{Context: max(d.Context, 1), Batch: max(d.Batch, 1)}
	e.Chunk = max(1, min(d.Chunk, e.Context))
	e.Items = weightItems(p)
	if n := besideWeights(p, r); n > 0 {
		e.Items = append(e.Items, Item{"made of weights, beside them", n})
	}
	for i := range p.States {
		s := &p.States[i]
		kind := r.State(s.Kind)
		if kind == nil || kind.Bytes == nil {
			return Estimate{}, at(s.Path, s.At, fmt.Errorf("no kind of state is called %q", s.Kind))
		}
		per, fixed := kind.Bytes(*s)
		e.perPosition = plus(e.perPosition, times(per, int64(e.Batch)))
		e.fixed = plus(e.fixed, times(fixed, int64(e.Batch)))
	}
	if len(p.States) > 0 {
		e.Items = append(e.Items, Item{
			fmt.Sprintf("states, %d of %d positions x %d sequences", len(p.States), e.Context, e.Batch),
			plus(e.fixed, times(e.perPosition, int64(e.Context))),
		})
	}
	if n := largestForward(p, e, d.Device != "gpu"); n > 0 {
		e.Items = append(e.Items, Item{fmt.Sprintf("values of one forward, up to %d tokens x %d sequences", e.Chunk, e.Batch), n})
	}
	for _, it := range e.Items {
		e.Total = plus(e.Total, it.Bytes)
	}
	return e, nil
}

func weightItems(p *plan.Plan) []Item {
	storage := make([]string, len(p.Tensors))
	for i := range p.Weights {
		w := &p.Weights[i]
		name := w.Facts.Storage
		if w.Facts.Bits > 0 {
			name = fmt.Sprintf("%s %d bits", name, w.Facts.Bits)
		} else if name == "dense" {
			name = "dense " + w.Facts.Dtype.String()
		}
		for _, t := range w.Tensors() {
			if t < len(storage) {
				storage[t] = name
			}
		}
	}
	bytes := map[string]int64{}
	for i, t := range p.Tensors {
		name := storage[i]
		if name == "" {
			name = "others"
		}
		bytes[name] = plus(bytes[name], t.Bytes())
	}
	var items []Item
	for name, n := range bytes {
		items = append(items, Item{"weights, " + name, n})
	}
	sort.Slice(items, func(i, j int) bool {
		if items[i].Bytes != items[j].Bytes {
			return items[i].Bytes > items[j].Bytes
		}
		return items[i].Name < items[j].Name
	})
	return items
}

// besideWeights is what classes make of the weights and keep, each weight once for a dtype of activations.
func besideWeights(p *plan.Plan, r *registry.Registry) int64 {
	type use struct {
		weight int
		x      dtype.Dtype
	}
	seen, total := map[use]bool{}, int64(0)
	var visit func(instance, depth int, x dtype.Dtype)
	visit = func(instance, depth int, x dtype.Dtype) {
		if instance < 0 || instance >= len(p.Instances) || depth > 8 {
			return
		}
		inst := &p.Instances[instance]
		if class := r.Class(inst.Class); class != nil && class.Beside != nil && inst.Kind != "embedding" {
			for _, w := range inst.Weights {
				if u := (use{w.Weight, x}); !seen[u] && w.Weight >= 0 && w.Weight < len(p.Weights) {
					seen[u] = true
					total = plus(total, class.Beside(p.Weights[w.Weight].Facts, x))
				}
			}
		}
		for _, part := range inst.Parts {
			visit(part.Instance, depth+1, x)
		}
	}
	for i := range p.Programs {
		for k := range p.Programs[i].Calls {
			if c := &p.Programs[i].Calls[k]; c.Operator == "" && len(c.In) > 0 {
				visit(c.Instance, 0, c.In[0].Type.Dtype)
			}
		}
	}
	return total
}

// largestForward is the most bytes that the values of one program hold at once, over all programs.
func largestForward(p *plan.Plan, e Estimate, scores bool) int64 {
	var most int64
	for i := range p.Programs {
		g := &p.Programs[i]
		t := e.Chunk
		if len(g.Results) > 0 && hasForwardWithout(p, g) {
			t = 1 // chunks run the program without outputs
		}
		if rows := e.Batch * t; rows < g.First || g.Last != 0 && rows > g.Last {
			if g.Last == 0 || g.First > rows {
				continue
			}
			t = max(1, g.Last/e.Batch)
		}
		most = max(most, programBytes(p, g, sizes{e.Batch, t, e.Context}, scores))
	}
	return most
}

func hasForwardWithout(p *plan.Plan, g *plan.Program) bool {
	for i := range p.Programs {
		if o := &p.Programs[i]; o.Entry == g.Entry && len(o.Results) == 0 {
			return true
		}
	}
	return false
}

func programBytes(p *plan.Plan, g *plan.Program, z sizes, scores bool) int64 {
	held := make([]int64, max(0, g.Slots))
	var now, most int64
	put := func(slot int, n int64) {
		if slot >= 0 && slot < len(held) {
			now += n - held[slot]
			held[slot] = n
		}
	}
	for _, in := range g.Inputs {
		put(in.Slot, z.bytes(plan.Type{Dtype: in.Dtype, Shape: in.Shape}))
	}
	for i := range g.Calls {
		c := &g.Calls[i]
		var inner int64
		for j, s := range c.Out {
			if j < len(c.Types) {
				put(s, z.bytes(c.Types[j]))
			}
		}
		if c.Instance >= 0 && c.Instance < len(p.Instances) && len(c.Types) > 0 {
			inner = z.inside(p, c)
		}
		if scores && c.State >= 0 {
			inner = plus(inner, z.scores(c))
		}
		most = max(most, plus(now, inner))
		for _, s := range c.Free {
			put(s, 0)
		}
	}
	return most
}

// sizes are the values of B, T and S. A length that only a state knows is taken as S, which it never exceeds.
type sizes struct{ b, t, s int }

func (z sizes) elements(s shape.Shape) int64 {
	n := int64(1)
	for _, d := range s {
		v := int64(d.Const)
		for _, term := range d.Terms {
			x := z.s
			switch term.Symbol {
			case "B":
				x = z.b
			case "T":
				x = z.t
			}
			v = plus(v, times(int64(term.Factor), int64(x)))
		}
		n = times(n, max(v, 0))
	}
	return n
}

func (z sizes) bytes(t plan.Type) int64 { return times(z.elements(t.Shape), int64(t.Dtype.Size())) }

// inside is what the weights of a port put out beyond the port's own result: the width of an mlp, twice.
func (z sizes) inside(p *plan.Plan, c *plan.Call) int64 {
	t := c.Types[0]
	if len(t.Shape) == 0 || p.Instances[c.Instance].Kind == "embedding" {
		return 0
	}
	width, ok := t.Shape.Last().Known()
	if !ok || width == 0 {
		return 0
	}
	rows := z.elements(t.Shape) / int64(width)
	var outputs int64
	seen := 0
	var walk func(instance int)
	walk = func(instance int) {
		if seen++; instance < 0 || instance >= len(p.Instances) || seen > 64 {
			return
		}
		for _, w := range p.Instances[instance].Weights {
			if w.Weight >= 0 && w.Weight < len(p.Weights) {
				outputs += int64(p.Weights[w.Weight].Facts.Outputs)
			}
		}
		for _, part := range p.Instances[instance].Parts {
			walk(part.Instance)
		}
	}
	walk(c.Instance)
	return times(times(rows, max(0, outputs-int64(width))), int64(t.Dtype.Size()))
}

// scores are what a call with a state puts between its queries [B, heads, T, dim] and S positions, twice, since the
// softmax has an input and an output.
func (z sizes) scores(c *plan.Call) int64 {
	if len(c.In) == 0 || len(c.In[0].Type.Shape) != 4 {
		return 0
	}
	q := c.In[0].Type
	return times(times(2*int64(q.Dtype.Size()), z.elements(q.Shape[:3])), int64(z.s))
}

// Fits is nil where the estimate is within budget bytes (0: no limit); else the error has the line items and the
// longest context that would fit.
func (e Estimate) Fits(budget int64) error {
	if budget <= 0 || e.Total <= budget {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "this needs %s of memory, the budget is %s:", Bytes(e.Total), Bytes(budget))
	for _, it := range e.Items {
		fmt.Fprintf(&b, "\n  %10s  %s", Bytes(it.Bytes), it.Name)
	}
	over := e.Total - budget
	if e.perPosition > 0 {
		if fits := int64(e.Context) - (over+e.perPosition-1)/e.perPosition; fits > 0 {
			fmt.Fprintf(&b, "\na context of %d positions would fit", fits)
			return &MemoryError{e, budget, b.String()}
		}
	}
	b.WriteString("\nno context fits: take a smaller or more strongly quantised checkpoint, a smaller prompt chunk, or a larger budget")
	return &MemoryError{e, budget, b.String()}
}

// MemoryError says that a configuration is larger than its budget.
type MemoryError struct {
	Estimate Estimate
	Budget   int64
	text     string
}

func (e *MemoryError) Error() string { return e.text }

// Bytes writes a size as people do: 3.1 GiB.
func Bytes(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// plus and times stop at the largest number: sizes come from files.
func plus(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if a > 0 && b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
