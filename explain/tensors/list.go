package tensors

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// List is the tensors of a checkpoint.
type List struct {
	Model   string // whose view it is; "": no model is known, and there are no weights
	Stored  []Stored
	Weights []Weight // after the view, by name
	Missing []Weight // that the graph wants and nothing gives, by name
	// Guessed says that the graph could not be composed for these tensors: users and missing weights are those of the graph
	// as the config alone has it.
	Guessed bool
}

// Stored is a tensor as the file holds it.
type Stored struct {
	*header.Tensor
	Gives   []int  // of List.Weights
	Dropped bool   // by the view
	As      string // the entry that it was dropped as
}

// Weight is a tensor after the view, which a file may hold in another way.
type Weight struct {
	Name  string
	Dtype string
	Shape []int
	Bytes int64
	Quant *header.Quant // of one that MLX's modes quantise
	Kept  string        // how another storage keeps it: "trellis 2 bits row"
	From  []*header.Tensor
	How   string // "" where it is as stored, else the last operation
	Users []User
}

// User is a port or call that computes with a weight.
type User struct {
	Path string `json:"path"`
	By   string `json:"by"` // the kind of port, or the operator
}

// Plain lists a checkpoint without a model.
func Plain(ck *header.Checkpoint) *List {
	l := &List{}
	for i := range ck.Tensors {
		l.Stored = append(l.Stored, Stored{Tensor: &ck.Tensors[i]})
	}
	return l
}

// Make lists a checkpoint with what a model makes of it. wanted is the plan of the config alone, for where the audit is
// not whole; it may be nil.
func Make(ck *header.Checkpoint, model string, a *compose.Audit, wanted *plan.Plan) *List {
	l := Plain(ck)
	l.Model = model
	p := a.Plan
	if !a.Whole {
		l.Guessed = true
		if wanted != nil {
			p = wanted
		}
	}
	users := usersOf(p)
	quant, kept := quants(a, p), storages(p)
	byName := map[string]int{}
	for i, s := range l.Stored {
		byName[s.Name] = i
	}
	for _, name := range slices.Sorted(maps.Keys(a.View.Tensors)) {
		r := a.View.Tensors[name]
		w := Weight{Name: name, Dtype: r.Dtype.String(), Shape: r.Shape, Bytes: r.Bytes(), Quant: quant[module(name)], Kept: kept[name], Users: users[name]}
		if !isWeight(name) {
			w.Quant = nil
		}
		if l.Guessed && len(w.Users) == 0 && isPart(name) { // what is stored quantised may be wanted dense
			w.Users = users[module(name)+".weight"]
		}
		if r.Op != view.OpSource {
			w.How = string(r.Op)
		}
		r.Sources(func(t *header.Tensor) {
			if slices.Contains(w.From, t) {
				return
			}
			w.From = append(w.From, t)
			if i, ok := byName[t.Name]; ok {
				l.Stored[i].Gives = append(l.Stored[i].Gives, len(l.Weights))
			}
		})
		l.Weights = append(l.Weights, w)
	}
	l.drops(a.View)
	if l.Guessed && p != nil {
		l.missing(a.View, p, users)
	}
	return l
}

// drops marks what gives no weight; a step that drops sees names that earlier steps gave.
func (l *List) drops(v *view.Result) {
	as := map[string]string{}
	for _, d := range v.Dropped {
		as[d.Name] = d.As
	}
	for i := range l.Stored {
		s := &l.Stored[i]
		s.Dropped = len(s.Gives) == 0
		s.As = as[s.Name]
	}
	for entry, recipes := range v.Aside {
		for _, r := range recipes {
			r.Sources(func(t *header.Tensor) {
				for i := range l.Stored {
					if l.Stored[i].Name == t.Name {
						l.Stored[i].As = entry
					}
				}
			})
		}
	}
}

func (l *List) missing(v *view.Result, p *plan.Plan, users map[string][]User) {
	for _, t := range p.Tensors {
		dense := v.Tensors[module(t.Name)+".weight"] != nil && !strings.HasSuffix(t.Name, ".bias")
		if v.Tensors[t.Name] != nil || dense && !isWeight(t.Name) {
			continue
		}
		var quant *header.Quant
		for _, w := range p.Weights {
			if w.Facts.Storage == "affine" && t.Name == w.Path+".weight" {
				quant = &header.Quant{GroupSize: w.Facts.Group, Bits: w.Facts.Bits, Mode: w.Facts.Mode}
			}
		}
		l.Missing = append(l.Missing, Weight{Quant: quant, Name: t.Name, Dtype: t.Dtype.String(), Shape: t.Shape, Bytes: t.Bytes(), Users: users[t.Name]})
	}
	slices.SortFunc(l.Missing, func(a, b Weight) int { return strings.Compare(a.Name, b.Name) })
}

// Unused are the weights that nothing uses.
func (l *List) Unused() []Weight {
	var out []Weight
	for _, w := range l.Weights {
		if len(w.Users) == 0 {
			out = append(out, w)
		}
	}
	return out
}

func module(tensor string) string {
	if i := strings.LastIndexByte(tensor, '.'); i >= 0 {
		return tensor[:i]
	}
	return tensor
}

func isWeight(name string) bool { return strings.HasSuffix(name, ".weight") || name == "weight" }

// usersOf gives, by tensor, the ports and calls that compute with it.
func usersOf(p *plan.Plan) map[string][]User {
	out := map[string][]User{}
	if p == nil {
		return out
	}
	use := func(tensor int, u User) {
		if tensor < 0 || tensor >= len(p.Tensors) {
			return
		}
		name := p.Tensors[tensor].Name
		if !slices.Contains(out[name], u) {
			out[name] = append(out[name], u)
		}
	}
	for _, several := range []bool{false, true} {
		alone := maps.Clone(out)
		for i := range p.Ports {
			port := &p.Ports[i]
			for _, w := range port.Weights {
				if w < 0 || w >= len(p.Weights) || several != (len(port.Weights) > 1) {
					continue
				}
				for _, t := range p.Weights[w].Tensors() {
					if several && t < len(p.Tensors) && len(alone[p.Tensors[t].Name]) > 0 {
						continue // the port of this part alone says more
					}
					use(t, User{port.Path, port.Kind})
				}
			}
		}
	}
	for i := range p.Programs {
		for k := range p.Programs[i].Calls {
			c := &p.Programs[i].Calls[k]
			for _, in := range c.In {
				if in.Kind == plan.FromTensor {
					use(in.Index, User{c.Path, c.Operator})
				}
			}
		}
	}
	return out
}

// quants is how each module is quantised: as the plan found, else as the table says.
func quants(a *compose.Audit, p *plan.Plan) map[string]*header.Quant {
	out := map[string]*header.Quant{}
	for name := range a.View.Tensors {
		if path, is := strings.CutSuffix(name, ".scales"); is {
			if q, ok := a.View.Quantization.For(path); ok {
				out[path] = &q
			}
		}
	}
	if p == nil {
		return out
	}
	for _, w := range p.Weights {
		if w.Facts.Storage == "affine" && a.View.Tensors[w.Path+".scales"] != nil {
			out[w.Path] = &header.Quant{GroupSize: w.Facts.Group, Bits: w.Facts.Bits, Mode: w.Facts.Mode}
		}
	}
	return out
}

// storages says, by tensor, how one is kept that is neither dense nor of MLX's own modes.
func storages(p *plan.Plan) map[string]string {
	out := map[string]string{}
	if p == nil {
		return out
	}
	for _, w := range p.Weights {
		if s := w.Facts.Storage; s != "dense" && s != "affine" && w.Tensor >= 0 && w.Tensor < len(p.Tensors) {
			out[p.Tensors[w.Tensor].Name] = explain.StorageText(w.Facts)
		}
	}
	return out
}
