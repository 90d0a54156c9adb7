package adapter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// Files of a folder, the first that is there.
var (
	settingsFiles = []string{"optiq_lora_config.json", "adapter_config.json"}
	factorFiles   = []string{"adapters.safetensors", "adapter_model.safetensors"}
)

// Read reads a folder's settings and headers and fits its factors to a plan. What is wrong comes as an *Error that tells all
// of it; a file that cannot be read as an error of its own.
func Read(folder string, p *plan.Plan) (*Adapter, error) {
	config, err := firstOf(folder, settingsFiles)
	if err != nil {
		return nil, err
	}
	factors, err := firstOf(folder, factorFiles)
	if err != nil {
		return nil, err
	}
	c, err := header.ReadConfig(config)
	if err != nil {
		return nil, err
	}
	ck, err := header.Open(factors)
	if err != nil {
		return nil, err
	}
	a, err := fit(folder, c, ck.Tensors, p)
	if err != nil {
		return nil, err
	}
	a.Checkpoint = ck
	return a, nil
}

func firstOf(folder string, names []string) (string, error) {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no adapter %s: a folder with adapter_config.json and adapters.safetensors (mlx-lm) or adapter_model.safetensors (PEFT) is wanted", folder)
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s is a file; an adapter is the folder that holds its settings and factors", folder)
	}
	for _, name := range names {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("adapter %s: the folder holds no %s", folder, strings.Join(names, " and no "))
}

// pair are the two halves of a module's adapter, as they are stored.
type pair struct {
	module string
	a, b   *header.Tensor
	peft   bool // spelt as PEFT spells it
}

// fit finds the weight of each pair.
func fit(path string, c *header.Config, tensors []header.Tensor, p *plan.Plan) (*Adapter, error) {
	r := &reader{}
	s := r.settings(c)
	pairs := r.pairs(tensors)
	if len(tensors) == 0 {
		r.problem("", "", "it holds no tensors")
	}
	out := &Adapter{Path: path}
	if s != nil {
		out.Form = s.form
	}
	n := namesOf(p)
	taken := map[int]string{}
	for _, x := range pairs {
		i := n.find(x.module)
		if i < 0 {
			r.unknown(n, x)
			continue
		}
		t := &n.targets[i]
		if t.Refused != "" {
			r.problem(x.module, "", "%s", t.Refused)
			continue
		}
		if other, twice := taken[i]; twice {
			r.problem(x.module, "", "is the weight %s, as %s is", t.Path, other)
			continue
		}
		taken[i] = x.module
		f, ok := r.factor(x, t, s)
		if ok && s != nil {
			f.Scale = s.scaleOf(x.module, f.Rank)
			out.Factors = append(out.Factors, f)
		}
	}
	if len(r.problems) > 0 {
		return nil, &Error{path, r.problems}
	}
	slices.SortFunc(out.Factors, func(a, b Factor) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// halves are how the two factors' names end.
var halves = []struct {
	end     string
	b, peft bool
}{{"lora_a", false, false}, {"lora_b", true, false}, {"lora_A", false, true}, {"lora_B", true, true}}

// pairs sorts the tensors into pairs, by module.
func (r *reader) pairs(tensors []header.Tensor) []*pair {
	byModule := map[string]*pair{}
	var out []*pair
next:
	for i := range tensors {
		t := &tensors[i]
		name := strings.TrimSuffix(strings.TrimSuffix(t.Name, ".weight"), ".default")
		for _, h := range halves {
			module, ok := strings.CutSuffix(name, "."+h.end)
			if !ok {
				continue
			}
			x := byModule[module]
			if x == nil {
				x = &pair{module: module}
				byModule[module] = x
				out = append(out, x)
			}
			half := &x.a
			if h.b {
				half = &x.b
			}
			if *half != nil {
				r.problem(t.Name, "", "is there twice, also as %s", (*half).Name)
				continue next
			}
			*half, x.peft = t, h.peft
			continue next
		}
		r.stranger(t)
	}
	return out
}

// stranger says what a tensor is that is no half of a pair.
func (r *reader) stranger(t *header.Tensor) {
	switch {
	case strings.HasSuffix(t.Name, ".lora_magnitude_vector") || strings.HasSuffix(t.Name, ".lora_magnitude_vector.weight") || strings.HasSuffix(t.Name, ".m"):
		r.problem(t.Name, "", "is the magnitude of a DoRA adapter, which is not supported")
	case strings.HasSuffix(t.Name, ".lora_embedding_A") || strings.HasSuffix(t.Name, ".lora_embedding_B"):
		r.problem(t.Name, "", "%s", refused("embedding"))
	default:
		last := t.Name[strings.LastIndexByte(strings.TrimSuffix(t.Name, ".weight"), '.')+1:]
		help := "names end in lora_a and lora_b (mlx-lm) or lora_A.weight and lora_B.weight (PEFT)"
		if near := diag.Nearest(last, []string{"lora_a", "lora_b", "lora_A.weight", "lora_B.weight"}); near != "" {
			help = "did you mean " + strings.TrimSuffix(t.Name, last) + near + "?"
		}
		r.problem(t.Name, help, "is no half of an adapter")
	}
}

// unknown says of a pair that it is no weight's.
func (r *reader) unknown(n *names, x *pair) {
	module := strings.TrimPrefix(x.module, "base_model.model.")
	if of, ok := n.made[module]; ok {
		r.problem(x.module, "", "is no weight by itself: the model's view splits, joins or turns it (%s is made of it), and its factors cannot follow", of)
		return
	}
	help := ""
	if near := diag.Nearest(module, n.all); near != "" {
		help = "did you mean " + near + "?"
	} else if last := module[strings.LastIndexByte(module, '.')+1:]; last != "" {
		var ends []string
		for _, path := range n.all {
			end := path[strings.LastIndexByte(path, '.')+1:]
			if !slices.Contains(ends, end) {
				ends = append(ends, end)
			}
		}
		slices.Sort(ends)
		help = "adapters attach to " + strings.Join(ends, ", ")
		if slices.Contains(ends, last) {
			help = "such weights have paths like " + n.like(last)
		}
	}
	r.problem(x.module, help, "the model has no such weight")
}

// like is the first target whose path ends in a word.
func (n *names) like(last string) string {
	for _, path := range n.all {
		if strings.HasSuffix(path, "."+last) || path == last {
			return path
		}
	}
	return ""
}

// factor holds a pair to its weight.
func (r *reader) factor(x *pair, t *Target, s *settings) (Factor, bool) {
	f := Factor{Path: t.Path, Weight: t.Weight}
	if x.a == nil || x.b == nil {
		have, lack := x.a, "lora_b"
		if x.a == nil {
			have, lack = x.b, "lora_a"
		}
		if x.peft {
			lack = strings.NewReplacer("_a", "_A", "_b", "_B").Replace(lack)
		}
		r.problem(have.Name, "", "stands alone: its other half, %s.%s, is missing", x.module, lack)
		return f, false
	}
	for _, half := range []*header.Tensor{x.a, x.b} {
		if !half.Dtype.IsFloat() {
			r.problem(half.Name, "", "is %s; factors are of a floating dtype", half.Dtype)
			return f, false
		}
	}
	turned, ok := x.layout(t)
	if !ok {
		wantA, wantB := fmt.Sprintf("[%d, rank]", t.Inputs), fmt.Sprintf("[rank, %d]", t.Outputs)
		if x.peft {
			wantA, wantB = fmt.Sprintf("[rank, %d]", t.Inputs), fmt.Sprintf("[%d, rank]", t.Outputs)
		}
		r.problem(x.module, fmt.Sprintf("%s and %s are wanted, of one rank", wantA, wantB), "the halves are %s and %s, which the weight, %d inputs and %d outputs, does not take",
			dims(x.a.Shape), dims(x.b.Shape), t.Inputs, t.Outputs)
		return f, false
	}
	f.A, f.B, f.Rank = view.FromTensor(x.a), view.FromTensor(x.b), x.a.Shape[1]
	if turned {
		f.A, f.B, f.Rank = turn(f.A), turn(f.B), x.a.Shape[0]
	}
	if s != nil {
		if want := s.rankOf(x.module); want != 0 && want != f.Rank {
			r.problem(x.module, "", "has rank %d; the settings say %d", f.Rank, want)
			return f, false
		}
	}
	return f, true
}

// layout tells whether the halves lie as PEFT's: A [rank, inputs], B [outputs, rank]; else A [inputs, rank], B [rank, outputs].
// The shapes decide; where both would do, the spelling.
func (x *pair) layout(t *Target) (turned, ok bool) {
	a, b := x.a.Shape, x.b.Shape
	if len(a) != 2 || len(b) != 2 {
		return false, false
	}
	straight := a[0] == t.Inputs && b[1] == t.Outputs && a[1] == b[0] && a[1] > 0
	peft := a[1] == t.Inputs && b[0] == t.Outputs && a[0] == b[1] && a[0] > 0
	if straight && peft {
		return x.peft, true
	}
	return peft, straight || peft
}

// turn is the transpose of a matrix, in rows: the same bits as of one that is stored so.
func turn(r *view.Recipe) *view.Recipe {
	shape := []int{r.Shape[1], r.Shape[0]}
	t := &view.Recipe{Op: view.OpTranspose, Inputs: []*view.Recipe{r}, Axes: []int{1, 0}, Shape: shape, Dtype: r.Dtype}
	return &view.Recipe{Op: view.OpContiguous, Inputs: []*view.Recipe{t}, Shape: shape, Dtype: r.Dtype}
}

func dims(shape []int) string { return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ") }
