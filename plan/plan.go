// Package plan holds what the composer decided, as types only: which tensors are opened, which class computes with
// each weight, what each program calls in which order, and when each value dies. The composer writes a plan, the
// engine reads it, and neither knows the other. A plan needs no MLX.
package plan

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/shape"
	"github.com/graphrun/graphrun/weights/view"
)

// Plan is a composed graph.
type Plan struct {
	Model     string     `json:"model"`
	Tensors   []Tensor   `json:"tensors"`
	Weights   []Weight   `json:"weights"`
	Instances []Instance `json:"instances"`
	Ports     []Port     `json:"ports"`
	States    []State    `json:"states"`
	Programs  []Program  `json:"programs"`
	Variants  []string   `json:"variants,omitempty"`
	Native    []string   `json:"native,omitempty"` // operators that the CPU's own kernels compute where they serve the call
	Submit    []Submit   `json:"submit,omitempty"`
	Verify    []Cost     `json:"verify_cost,omitempty"`
	Layers    int        `json:"layers"` // indices of the outermost repeat of the text entry
	Dropped   []Dropped  `json:"dropped,omitempty"`
	Unasked   []string   `json:"unasked,omitempty"` // config keys that no expression asked for
}

// Tensor is one array that is opened: a recipe over the checkpoint's own tensors.
type Tensor struct {
	Name   string       `json:"name"` // canonical
	Dtype  dtype.Dtype  `json:"dtype"`
	Shape  []int        `json:"shape"`
	Recipe *view.Recipe `json:"recipe,omitempty"` // nil where the plan was composed without a checkpoint
}

// Bytes is the tensor's size in memory.
func (t Tensor) Bytes() int64 {
	n := int64(t.Dtype.Size())
	for _, d := range t.Shape {
		n *= int64(d)
	}
	return n
}

// Facts are what a class may ask of a weight before it is opened.
type Facts struct {
	Storage string      `json:"storage"` // dense, affine (any mode of MLX's quantisation), trellis, exl3
	Dtype   dtype.Dtype `json:"dtype"`   // of the values: a dense weight's own, a quantised one's scales' (activations' for uint8 scales)
	Bits    int         `json:"bits,omitempty"`
	Group   int         `json:"group,omitempty"`  // of trellis codes, the weights of a block or a tile
	Mode    string      `json:"mode,omitempty"`   // of exl3, its code: 3inst, mcg, mul1
	Layout  string      `json:"layout,omitempty"` // of trellis codes: row, interleaved; of exl3: tiles
	Axis    int         `json:"axis,omitempty"`   // of trellis codes: 1 along the inputs, 0 along the outputs
	Inputs  int         `json:"inputs"`
	Outputs int         `json:"outputs"`
	Count   int         `json:"count,omitempty"` // matrices: experts, heads
	Bytes   int64       `json:"bytes"`
	Bias    bool        `json:"bias,omitempty"`
}

// Weight is one weight of a port with the tensors that hold it: indices into Plan.Tensors, -1 for none.
type Weight struct {
	Path    string `json:"path"`
	Facts   Facts  `json:"facts"`
	Tensor  int    `json:"tensor"`
	Scales  int    `json:"scales"`
	Biases  int    `json:"biases"`         // affine zero points
	Bias    int    `json:"bias"`           // additive
	More    []int  `json:"more,omitempty"` // of exl3: scales with signs of the inputs and of the outputs, then markers
	Derived bool   `json:"derived,omitempty"`
}

// Tensors are the indices of all tensors that hold the weight.
func (w *Weight) Tensors() []int {
	out := make([]int, 0, 4+len(w.More))
	for _, t := range append([]int{w.Tensor, w.Scales, w.Biases, w.Bias}, w.More...) {
		if t >= 0 {
			out = append(out, t)
		}
	}
	return out
}

// Instance is a class bound to weights: same class, same parameters, same weights are one instance.
type Instance struct {
	Class      string       `json:"class"`
	Args       Args         `json:"args,omitempty"`
	Kind       string       `json:"kind"` // of the port
	Path       string       `json:"path"`
	Weights    []RoleWeight `json:"weights,omitempty"`
	Parts      []RolePart   `json:"parts,omitempty"` // instances that a form is made of
	Activation *Activation  `json:"activation,omitempty"`
	At         diag.Range   `json:"-"` // the bind line or the port's declaration
}

// RoleWeight is an index into Plan.Weights under the name of its part ("weight" where there is one).
type RoleWeight struct {
	Role   string `json:"role"`
	Weight int    `json:"weight"`
}

// RolePart is an index into Plan.Instances.
type RolePart struct {
	Role     string `json:"role"`
	Instance int    `json:"instance"`
}

// Activation is the operator between the parts of an mlp, with its parameters.
type Activation struct {
	Operator string `json:"operator"`
	Args     Args   `json:"args,omitempty"`
}

// Port is a place of one entry where weights meet a class. Entries that name one path share its weights, not its classes.
type Port struct {
	Entry   string     `json:"entry"`
	Path    string     `json:"path"`
	Kind    string     `json:"kind"`
	Dims    []int      `json:"dims"`
	Weights []int      `json:"weights"`           // indices into Plan.Weights
	Roles   []string   `json:"roles"`             // of the weights: "weight" where there is one
	Members []int      `json:"members,omitempty"` // of a group: indices into Plan.Ports, in the order of Roles
	Place   diag.Range `json:"-"`
	Rows    []RowClass `json:"rows"` // ranges in order, without gaps, from 1
}

// RowClass says which instance a range of row counts runs.
type RowClass struct {
	First    int        `json:"first"`
	Last     int        `json:"last"` // 0: no end
	Instance int        `json:"instance"`
	Exact    bool       `json:"exact"`
	Adapted  int        `json:"adapted"` // the instance while an active adapter touches the port, -1: the exact class
	At       diag.Range `json:"-"`       // the bind line that won; zero for the exact class underneath
}

// At is what a row count runs.
func (p *Port) At(rows int) *RowClass {
	for i := range p.Rows {
		if r := &p.Rows[i]; rows >= r.First && (r.Last == 0 || rows <= r.Last) {
			return r
		}
	}
	return nil
}

// State is what a forward leaves for the next one.
type State struct {
	Path  string      `json:"path"`
	Kind  string      `json:"kind"` // cache, array
	Args  Args        `json:"args"`
	Dtype dtype.Dtype `json:"dtype"` // of the activations, or as declared
	// Scheme is how a cache's keys and values are stored where that is not their own dtype: affine, with Bits and Group, or
	// the name of another dtype.
	Scheme string `json:"scheme,omitempty"`
	Bits   int    `json:"bits,omitempty"`
	Group  int    `json:"group,omitempty"`
	// Reads are the classes that read it where a variant says so, by entry and rows; elsewhere it is read as it is stored.
	Reads []StateRead `json:"reads,omitempty"`
	// Rollback is how rejected tokens are taken back where a variant says so: replay, snapshot.
	Rollback string     `json:"rollback,omitempty"`
	At       diag.Range `json:"-"`
}

// Holds is the dtype of a cache's arrays where these are keys and values as such.
func (s *State) Holds() dtype.Dtype {
	if d, ok := dtype.Parse(s.Scheme); ok {
		return d
	}
	return s.Dtype
}

// Stored tells how a cache's keys and values are stored: plain (in their own dtype), float16, affine 4 bits g64.
func (s *State) Stored() string {
	switch {
	case s.Scheme == "":
		return "plain"
	case s.Bits == 0:
		return s.Scheme
	}
	return fmt.Sprintf("%s %d bits g%d", s.Scheme, s.Bits, s.Group)
}

// StateRead is the class that reads a state in forwards of an entry of so many rows.
type StateRead struct {
	Entry string     `json:"entry"`
	First int        `json:"first"`
	Last  int        `json:"last"` // 0: no end
	Class string     `json:"class"`
	Args  Args       `json:"args,omitempty"`
	At    diag.Range `json:"-"` // the line that says so
}

// ReadAt is the index of what reads the state at a row count, -1 where it is read as it is stored.
func (s *State) ReadAt(entry string, rows int) int {
	for i, r := range s.Reads {
		if r.Entry == entry && rows >= r.First && (r.Last == 0 || rows <= r.Last) {
			return i
		}
	}
	return -1
}

// Submit is when a forward of so many rows hands its work to the device.
type Submit struct {
	First int  `json:"first"`
	Last  int  `json:"last"` // 0: no end
	Args  Args `json:"args"`
}

// Cost is what a forward of Rows rows costs, in steps of one row.
type Cost struct {
	Rows int     `json:"rows"`
	Cost float64 `json:"cost"`
}

// Program is a flat list of calls for one entry.
type Program struct {
	Entry   string  `json:"entry"`
	Guards  []Guard `json:"guards,omitempty"` // all hold
	First   int     `json:"first"`            // rows
	Last    int     `json:"last"`             // 0: no end
	Inputs  []Named `json:"inputs"`
	Results []Named `json:"results"`
	Calls   []Call  `json:"calls"`
	Slots   int     `json:"slots"`
	Groups  []Group `json:"groups,omitempty"`
	Fused   []Fused `json:"fused,omitempty"`
}

// Fused is what runs as one call: a port's, or those of the members of a group, with a norm before and a sum after where the
// class computes these too; or an operator's with those of the operators around it. All are indices into Program.Calls, in whose results nothing changes by it; what lies between
// the calls is never made.
type Fused struct {
	Place    int   `json:"place"`    // the call in whose place it runs
	Before   int   `json:"before"`   // the operator whose result the members alone read, -1: none
	Members  []int `json:"members"`  // calls of ports, all of one value; of an operator and those around it, in order
	After    int   `json:"after"`    // the operator that alone reads the one member's result, -1: none
	Instance int   `json:"instance"` // of the port, or of the group; -1: an operator
	Core     int   `json:"core"`     // the call whose operator takes the others in, -1: none
}

// Group is a run of calls, one after another, that make one function for MLX's compile: a block that is marked so. It holds
// no port and no state.
type Group struct {
	Block     string     `json:"block"`
	Shapeless bool       `json:"shapeless,omitempty"` // traced once for all shapes
	Path      string     `json:"path"`
	At        diag.Range `json:"-"`
}

// Calls are those that run as one, in the order of the program.
func (f *Fused) Calls() []int {
	out := slices.Clone(f.Members)
	for _, i := range []int{f.Before, f.After} {
		if i >= 0 {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// Guard is a comparison of B, T or S with an integer.
type Guard struct {
	Symbol   string `json:"symbol"`
	Operator string `json:"operator"` // == != < <= > >=
	Number   int    `json:"number"`
}

// Named is a slot with the name it has outside the program.
type Named struct {
	Name  string      `json:"name"`
	Slot  int         `json:"slot"`
	Dtype dtype.Dtype `json:"dtype"`
	Shape shape.Shape `json:"shape"`
}

// Call is one operator or one port called.
type Call struct {
	Operator string     `json:"operator,omitempty"` // empty where Port >= 0
	Port     int        `json:"port"`               // index into Plan.Ports, -1: an operator
	Instance int        `json:"instance"`           // index into Plan.Instances, -1: an operator
	Args     Args       `json:"args,omitempty"`
	In       []Operand  `json:"in"`
	Out      []int      `json:"out"`
	State    int        `json:"state"`          // index into Plan.States, -1: none
	Read     int        `json:"read,omitempty"` // of that state: the n-th of its Reads, from 1; 0: as it is stored
	Free     []int      `json:"free,omitempty"`
	Group    int        `json:"group,omitempty"` // 1 + index into Program.Groups, 0: none
	Types    []Type     `json:"types"`           // of the results
	Path     string     `json:"path"`
	At       diag.Range `json:"-"`
}

// Type is the dtype and shape of a value.
type Type struct {
	Dtype dtype.Dtype `json:"dtype"`
	Shape shape.Shape `json:"shape"`
}

// OperandKind is where an operand comes from.
type OperandKind uint8

const (
	FromNothing OperandKind = iota // an optional input that is not given
	FromSlot
	FromTensor // Plan.Tensors
	FromState  // Plan.States
	FromScalar // a weak scalar: it takes the other side's dtype
)

// Operand is one input of a call.
type Operand struct {
	Kind   OperandKind `json:"kind"`
	Index  int         `json:"index,omitempty"`
	Scalar *Value      `json:"scalar"` // of FromScalar
	Type   Type        `json:"-"`
}

// Dropped is a node that is not there, and why.
type Dropped struct {
	Path string     `json:"path"`
	What string     `json:"what"`
	Why  string     `json:"why"`
	Some bool       `json:"some,omitempty"` // of some programs of the entry only, as their guards say
	At   diag.Range `json:"-"`
}
