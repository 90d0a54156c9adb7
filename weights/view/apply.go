package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/weights/header"
)

// Result is what a view makes of a checkpoint.
type Result struct {
	Tensors      map[string]*Recipe // by canonical name
	Quantization header.Quantization
	Aside        map[string]map[string]*Recipe // what `drop … as` keeps, by entry and name
	Dropped      []Dropped
	Matched      []int // by step: to how many tensors it applied
	// Idle lists modules that the quantization table names and that no tensor belongs to.
	Idle []string
}

// Dropped is a tensor that a step dropped, under the name that the step saw.
type Dropped struct {
	Name string
	Step int
	As   string
}

// Error is why a step could not be carried out on a tensor.
type Error struct {
	Step   int    // index
	Field  string // the step's key that is to blame: "when", "to", "axis", "sizes", "into", "over", "do"; "" for the step itself
	Index  int    // of `do` and `into`: which one
	Tensor string // as the step saw it; "" where it is none's fault
	Err    error
}

func (e *Error) Error() string {
	if e.Tensor == "" {
		return fmt.Sprintf("view step %d: %v", e.Step+1, e.Err)
	}
	return fmt.Sprintf("view step %d: %s: %v", e.Step+1, e.Tensor, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// MaxErrors is how many errors one step reports; a mistake in a pattern repeats itself for each layer.
const MaxErrors = 8

// Apply carries the steps out on headers. Where it meets errors it leaves the tensor as it was and goes on; the result
// is whole only if there are none.
func Apply(tensors []header.Tensor, q header.Quantization, steps []Step) (*Result, []*Error) {
	s := &state{tensors: make(map[string]*Recipe, len(tensors)), q: q.Clone(), aside: map[string]map[string]*Recipe{}}
	for i := range tensors {
		s.tensors[tensors[i].Name] = FromTensor(&tensors[i])
	}
	r := &Result{Matched: make([]int, len(steps))}
	for i, step := range steps {
		s.step, s.matched, s.stepErrors = i, 0, 0
		step.apply(s)
		r.Matched[i] = s.matched
	}
	r.Tensors, r.Quantization, r.Aside, r.Dropped = s.tensors, s.q, s.aside, s.dropped
	r.Idle = s.idle()
	return r, s.errors
}

// Canonical maps the names of stored tensors to those of the weights that they alone are, for names that come from
// elsewhere, as adapters' do. A tensor that was split, stacked or joined is not there.
func (r *Result) Canonical() map[string]string {
	out := map[string]string{}
	for name, recipe := range r.Tensors {
		for len(recipe.Inputs) == 1 && recipe.Op != OpSlice {
			recipe = recipe.Inputs[0]
		}
		if recipe.Op == OpSource {
			out[recipe.Tensor.Name] = name
		}
	}
	return out
}

// state is the checkpoint between two steps.
type state struct {
	tensors map[string]*Recipe
	index   *pattern.Index // of tensors; nil after a change
	q       header.Quantization
	aside   map[string]map[string]*Recipe
	dropped []Dropped
	errors  []*Error

	step, matched, stepErrors int
}

func (s *state) fail(field string, index int, tensor string, err error) {
	if s.stepErrors++; s.stepErrors <= MaxErrors {
		s.errors = append(s.errors, &Error{s.step, field, index, tensor, err})
	}
}

// family is a tensor and, of a quantised weight, the scales and biases that go with it.
type family struct {
	Match
	base  string   // "model.norm." of "model.norm.weight"; the name itself of what is no weight
	parts []string // suffixes: "weight" first, then those of "scales" and "biases" that are there; "" of what is no weight
}

func (f *family) quantised() bool { return len(f.parts) > 1 }

// module is the path that a quantization table would name.
func (f *family) module() string { return strings.TrimSuffix(f.base, ".") }

func (s *state) familyOf(name string) (base string, parts []string) {
	base, ok := strings.CutSuffix(name, "weight")
	if !ok || base != "" && !strings.HasSuffix(base, ".") {
		return name, []string{""}
	}
	parts = []string{"weight"}
	for _, p := range []string{"scales", "biases"} {
		if s.tensors[base+p] != nil {
			parts = append(parts, p)
		}
	}
	return base, parts
}

// hits finds what a step applies to, sorted by name. Scales and biases whose weight is hit come with it and not by
// themselves.
func (s *state) hits(patterns []*pattern.Pattern, when When) []*family {
	var out []*family
	seen := map[string]bool{}
	for _, p := range patterns {
		for _, c := range s.find(p) {
			if seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			t := s.tensors[c.Name]
			f := &family{Match: Match{c, t.Shape, t.Dtype}}
			if when != nil {
				yes, err := when(f.Match)
				if err != nil {
					s.fail("when", 0, c.Name, err)
				}
				if err != nil || !yes {
					continue
				}
			}
			f.base, f.parts = s.familyOf(c.Name)
			out = append(out, f)
		}
	}
	carried := map[string]bool{}
	for _, f := range out {
		for _, p := range f.parts[1:] {
			carried[f.base+p] = true
		}
	}
	out = slices.DeleteFunc(out, func(f *family) bool { return carried[f.Name] })
	slices.SortFunc(out, func(a, b *family) int { return strings.Compare(a.Name, b.Name) })
	s.matched = len(out)
	return out
}

func (s *state) find(p *pattern.Pattern) []pattern.Captures {
	if name, ok := p.Literal(); ok {
		if s.tensors[name] == nil {
			return nil
		}
		c, _ := p.Match(name)
		return []pattern.Captures{c}
	}
	if s.index == nil {
		s.index = pattern.NewIndex(slices.Collect(maps.Keys(s.tensors)))
	}
	return s.index.Find(p)
}

// target fills a target; of a quantised weight it must be a weight again.
func (f *family) target(to string) (string, error) {
	name, err := pattern.Fill(to, f.Captures)
	switch {
	case err != nil:
		return "", err
	case name == "":
		return "", fmt.Errorf("%s gives it an empty name", to)
	case f.quantised() && !strings.HasSuffix(name, ".weight") && name != "weight":
		return "", fmt.Errorf("it is quantised, so its new name, %s, must end in .weight", name)
	}
	return name, nil
}

// partOf gives the name of a family's part, under the name of its weight.
func partOf(name, part string) string {
	if part == "" || part == "weight" {
		return name
	}
	return strings.TrimSuffix(name, "weight") + part
}

// change is what a step wants done: everything in `take` goes, then everything in `put` comes.
type change struct {
	take []string
	put  map[string]*Recipe
	// table gives the quantization table's entries new paths: module to modules.
	table map[string][]string
	by    *family
}

// commit carries changes out together, so that names may be swapped; a name that is taken is an error of its change.
func (s *state) commit(field string, changes []change) {
	gone := map[string]bool{}
	for _, c := range changes {
		for _, name := range c.take {
			gone[name] = true
		}
	}
	owner := map[string]*family{}
	var good []change
	for _, c := range changes {
		err := error(nil)
		for _, name := range slices.Sorted(maps.Keys(c.put)) {
			if s.tensors[name] != nil && !gone[name] {
				err = fmt.Errorf("its new name, %s, is another tensor's", name)
			} else if other := owner[name]; other != nil {
				err = fmt.Errorf("its new name, %s, is also given to %s", name, other.Name)
			}
		}
		if err != nil {
			s.fail(field, 0, c.by.Name, err)
			continue
		}
		for name := range c.put {
			owner[name] = c.by
		}
		good = append(good, c)
	}
	moved := map[string]header.Quant{}
	off := map[string]bool{}
	for _, c := range good {
		for _, name := range c.take {
			delete(s.tensors, name)
		}
		for from, to := range c.table {
			one, listed := s.q.ByPath[from]
			for _, t := range to {
				if listed {
					moved[t] = one
				}
				if s.q.Off[from] {
					off[t] = true
				}
			}
		}
	}
	for _, c := range good {
		for from := range c.table {
			delete(s.q.ByPath, from)
			delete(s.q.Off, from)
		}
	}
	for _, c := range good {
		maps.Copy(s.tensors, c.put)
	}
	if s.q.ByPath != nil {
		maps.Copy(s.q.ByPath, moved)
	}
	if s.q.Off != nil {
		maps.Copy(s.q.Off, off)
	}
	if len(good) > 0 {
		s.index = nil
	}
}

func module(weight string) string {
	return strings.TrimSuffix(strings.TrimSuffix(weight, "weight"), ".")
}

func (s *state) idle() []string {
	here := map[string]bool{}
	note := func(name string) {
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			here[name[:i]] = true
		}
	}
	for name := range s.tensors {
		note(name)
	}
	for _, d := range s.dropped {
		note(d.Name)
	}
	return slices.DeleteFunc(s.q.Paths(), func(p string) bool { return here[p] })
}
