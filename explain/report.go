package explain

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// Facts are what a report says beside the plan. All may be left out.
type Facts struct {
	Checkpoint *Checkpoint
	Config     string // the config's path, where there is no checkpoint
	Device     string // as it is named to a reader
	Kind       string // of the device: cpu, gpu; "": a CPU
	Memory     Memory
}

// Checkpoint names what a plan was composed for.
type Checkpoint struct {
	Path        string `json:"path"`
	Format      string `json:"format"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Memory is what a plan takes, in line items.
type Memory struct {
	Items   []Item `json:"items"`
	Total   int64  `json:"total"`
	Context int    `json:"context"` // positions per sequence
	Batch   int    `json:"batch"`   // sequences
}

// Item is one line of Memory.
type Item struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Report is a plan in the words of a person.
type Report struct {
	Model      string       `json:"model"`
	Checkpoint *Checkpoint  `json:"checkpoint,omitempty"`
	Config     string       `json:"config,omitempty"`
	Device     string       `json:"device,omitempty"`
	Variants   []string     `json:"variants"`
	Layers     int          `json:"layers"`
	Entries    []Entry      `json:"entries"`
	Native     []string     `json:"native,omitempty"`    // operators that the CPU's own kernels compute where they serve the call
	NoKernel   []string     `json:"no_kernel,omitempty"` // classes that run, but for which this build has no kernel on the device
	KernelOf   []string     `json:"kernel_of,omitempty"` // of classes that run by the kernel of another: "trellis.down: trellis.scatter"
	States     []State      `json:"states"`
	Programs   []Program    `json:"programs"`
	Fused      []Fused      `json:"fused,omitempty"`
	Adapters   []Target     `json:"adapters"`
	Submit     []RowSetting `json:"submit,omitempty"`
	Verify     []plan.Cost  `json:"verify_cost,omitempty"`
	Dropped    []Dropped    `json:"dropped"`
	Unasked    []string     `json:"unasked"` // config keys that no expression asked for
	Memory     Memory       `json:"memory"`
	Hash       string       `json:"hash"`
}

// Rows is a range of row counts; Last 0 has no end.
type Rows struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// String is "4", "2..4" or "5..".
func (r Rows) String() string {
	switch r.Last {
	case 0:
		return fmt.Sprintf("%d..", r.First)
	case r.First:
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d..%d", r.First, r.Last)
}

// Entry is one graph of a model: its ports over the common refinement of all their row ranges.
type Entry struct {
	Name    string   `json:"name"`
	Outputs []string `json:"outputs"`
	Rows    []Rows   `json:"rows"`
	Ports   []Port   `json:"ports"`
}

// State is a state with what it takes.
type State struct {
	Path        string    `json:"path"`
	Kind        string    `json:"kind"`
	Args        plan.Args `json:"args"`
	Dtype       string    `json:"dtype"`
	PerPosition int64     `json:"bytes_per_position"` // of one sequence
	Fixed       int64     `json:"bytes_fixed"`        // of one sequence, whatever its length
	Scheme      string    `json:"scheme,omitempty"`   // how it is stored, where not in its dtype
	Reads       []Read    `json:"reads,omitempty"`    // what reads it; elsewhere it is read as it is stored
	Rollback    string    `json:"rollback,omitempty"`
}

// Read is the class that reads a state in an entry, at a range of rows.
type Read struct {
	Entry string `json:"entry"`
	Rows  Rows   `json:"rows"`
	Class string `json:"class"`
	Line  string `json:"line"`
}

// Program is one flat list of calls, by what chooses it.
type Program struct {
	Number  int      `json:"number"` // from 1
	Entry   string   `json:"entry"`
	Guards  []string `json:"guards"`
	Rows    Rows     `json:"rows"`
	Results []string `json:"results"` // none: the forward is for its states
	Calls   int      `json:"calls"`
	Run     int      `json:"run"` // calls after fusing: what a forward runs
	Slots   int      `json:"slots"`
}

// RowSetting is a setting of a range of row counts.
type RowSetting struct {
	Rows Rows      `json:"rows"`
	Args plan.Args `json:"args"`
}

// Dropped is a node that is not there.
type Dropped struct {
	Path string `json:"path"`
	What string `json:"what"`
	Why  string `json:"why"`
	Line string `json:"line"`
}

// Make describes a plan. The registry gives the sizes of states.
func Make(p *plan.Plan, reg *registry.Registry, f Facts) (*Report, error) {
	hash, err := Hash(p)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Model: p.Model, Checkpoint: f.Checkpoint, Config: f.Config, Device: f.Device, Variants: append([]string{}, p.Variants...),
		Layers: p.Layers, Native: p.Native, Verify: p.Verify, Unasked: unasked(p.Unasked), Memory: f.Memory, Hash: hash,
		States: []State{}, Dropped: []Dropped{}, Entries: entries(p),
	}
	r.kernels(p, reg, f.Kind)
	r.Adapters = targets(p)
	for i := range p.States {
		r.States = append(r.States, state(&p.States[i], reg))
	}
	for i := range p.Programs {
		g := &p.Programs[i]
		r.Programs = append(r.Programs, Program{
			Number: i + 1, Entry: g.Entry, Guards: Conditions(p, g), Rows: Rows{g.First, g.Last}, Results: names(g.Results),
			Calls: len(g.Calls), Run: run(g), Slots: g.Slots,
		})
	}
	r.Fused = fused(p)
	for _, s := range p.Submit {
		r.Submit = append(r.Submit, RowSetting{Rows{s.First, s.Last}, s.Args})
	}
	for _, d := range p.Dropped {
		why := d.Why
		if d.Some {
			why += ", in some programs"
		}
		r.Dropped = append(r.Dropped, Dropped{d.Path, d.What, why, line(d.At)})
	}
	return r, nil
}

// kernels lists the classes of the programs that this build cannot run on a kind of device, and those that run by another's kernel.
func (r *Report) kernels(p *plan.Plan, reg *registry.Registry, device string) {
	if device == "" {
		device = "cpu"
	}
	run := map[int]bool{}
	var names []string
	for g := range p.Programs {
		for _, u := range p.Programs[g].Fused {
			reach(p, u.Instance, run)
		}
		for k := range p.Programs[g].Calls {
			call := &p.Programs[g].Calls[k]
			reach(p, call.Instance, run)
			if call.Read > 0 {
				names = append(names, p.States[call.State].Reads[call.Read-1].Class)
			}
		}
	}
	for i := range run {
		names = append(names, p.Instances[i].Class)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		switch class := reg.Class(name); {
		case class == nil:
		case !class.HasKernel(device):
			r.NoKernel = append(r.NoKernel, name)
		case class.KernelOf != "":
			r.KernelOf = append(r.KernelOf, name+": "+class.KernelOf)
		}
	}
}

// ownKeys are config keys that no expression need ask for: they say how weights are stored and where a text ends, which is
// read without the graph.
var ownKeys = []string{"quantization", "quantization_config", "torch_dtype", "dtype", "eos_token_id"}

func unasked(keys []string) []string {
	out := append([]string{}, keys...)
	return slices.DeleteFunc(out, func(k string) bool { return slices.Contains(ownKeys, k) })
}

func state(s *plan.State, reg *registry.Registry) State {
	out := State{Path: s.Path, Kind: s.Kind, Args: s.Args, Dtype: s.Dtype.String(), Rollback: s.Rollback}
	kind := reg.State(s.Kind)
	if kind != nil && kind.Bytes != nil {
		out.PerPosition, out.Fixed = kind.Bytes(*s)
	}
	if s.Scheme != "" {
		out.Scheme = s.Stored()
	}
	for _, r := range s.Reads {
		out.Reads = append(out.Reads, Read{r.Entry, Rows{r.First, r.Last}, r.Class + ArgsText(r.Args), line(r.At)})
	}
	if kind != nil && out.Rollback == "" {
		out.Rollback = kind.RollbackOf(*s)
	}
	return out
}

// Conditions are what leads to a program: which of its entry's optional inputs are given, then its guards.
func Conditions(p *plan.Plan, g *plan.Program) []string {
	out := []string{}
	has := func(g *plan.Program, name string) bool {
		return slices.ContainsFunc(g.Inputs, func(in plan.Named) bool { return in.Name == name })
	}
	seen := map[string]bool{}
	for i := range p.Programs {
		other := &p.Programs[i]
		if other.Entry != g.Entry {
			continue
		}
		for _, list := range [][]plan.Named{other.Inputs, g.Inputs} {
			for _, in := range list {
				if mine := has(g, in.Name); mine != has(other, in.Name) && !seen[in.Name] {
					seen[in.Name] = true
					out = append(out, map[bool]string{true: "given ", false: "without "}[mine]+in.Name)
				}
			}
		}
	}
	for _, guard := range g.Guards {
		out = append(out, fmt.Sprintf("%s %s %d", guard.Symbol, guard.Operator, guard.Number))
	}
	return out
}

func names(list []plan.Named) []string {
	out := []string{}
	for _, n := range list {
		if !slices.Contains(out, n.Name) {
			out = append(out, n.Name)
		}
	}
	return out
}
