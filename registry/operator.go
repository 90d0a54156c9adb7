package registry

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/shape"
)

// Operator is a function on arrays that a graph file can call: its signature, what it says of its results before
// anything runs, and how it is made.
type Operator struct {
	Name    string
	Doc     string // first sentence: what it is; then shapes, dtypes, the source of the formula
	Inputs  []Input
	Outputs []string // names of the results; nil where their number depends on the parameters (Infer says it)
	Params  []Param
	State   StateUse
	Opens   bool // it takes a cache's arrays as they are, so these are in the activations' dtype
	Each    bool // `a, b: {op: [a, b]}` is one node per name

	// Infer gives the types of the results, or says what is wrong: an *ArgError names the input or parameter.
	Infer func(c *Infer) ([]plan.Type, error)
	// Native makes a function of the CPU's own kernels, where a variant takes them for the operator; nil where they do not
	// serve the call, which Build then does. NativeNumerics is the bound.
	Native         func(b *Build) (Run, error)
	NativeNumerics string
	// Joint says what can run as one with the operator; nil: nothing.
	Joint *Joint
	// Build makes the function that runs. It is called once per call of a plan, never in a forward.
	Build func(b *Build) (Run, error)
}

// InputKind is what an input takes.
type InputKind uint8

const (
	Value  InputKind = iota // a value, a declared weight or a weak scalar
	Weight                  // a tensor of the checkpoint below the call's path
	State                   // a state: its facts before the forward
	TypeOf                  // a value of which only the dtype is asked (`like`)
)

// Input is one input of an operator.
type Input struct {
	Name     string
	Doc      string
	Kind     InputKind
	Optional bool
	Variadic bool // takes all the rest; only the last may be so
}

// Param is a parameter of an operator or class.
type Param struct {
	Name     string
	Type     string // int float bool string map dims dtype class, lists ints floats bools strings
	Doc      string
	Default  *plan.Value
	Optional bool // may be left out, without a default
	OneOf    []string
}

// ParamTypes are the types that a parameter may have.
var ParamTypes = []string{"int", "float", "bool", "string", "map", "dims", "dtype", "class", "ints", "floats", "bools", "strings"}

// StateUse tells whether a call takes `state:`.
type StateUse uint8

const (
	NoState StateUse = iota
	OptionalState
	RequiredState
)

// ArgError is what is wrong with one input or parameter of a call.
type ArgError struct {
	Arg     string
	Message string
	Help    string
}

func (e *ArgError) Error() string { return e.Arg + ": " + e.Message }

// Wrong makes an ArgError.
func Wrong(arg, format string, args ...any) error {
	return &ArgError{Arg: arg, Message: fmt.Sprintf(format, args...)}
}

func (o *Operator) check() error {
	if o.Doc == "" || o.Infer == nil || o.Build == nil {
		return errors.New("an operator has a Doc, Infer and Build")
	}
	names := map[string]bool{}
	for i, in := range o.Inputs {
		if names[in.Name] {
			return fmt.Errorf("input %s is there twice", in.Name)
		}
		names[in.Name] = true
		if in.Variadic && i != len(o.Inputs)-1 {
			return fmt.Errorf("input %s: only the last may be variadic", in.Name)
		}
	}
	return checkParams(o.Params, names)
}

func checkParams(params []Param, names map[string]bool) error {
	for _, p := range params {
		if names[p.Name] {
			return fmt.Errorf("parameter %s is there twice", p.Name)
		}
		names[p.Name] = true
		known := false
		for _, t := range ParamTypes {
			known = known || t == p.Type
		}
		if !known {
			return fmt.Errorf("parameter %s has no type %q", p.Name, p.Type)
		}
	}
	return nil
}

// Input finds an input by name, or nil.
func (o *Operator) Input(name string) *Input {
	for i := range o.Inputs {
		if o.Inputs[i].Name == name {
			return &o.Inputs[i]
		}
	}
	return nil
}

// Param finds a parameter by name, or nil.
func (o *Operator) Param(name string) *Param {
	for i := range o.Params {
		if o.Params[i].Name == name {
			return &o.Params[i]
		}
	}
	return nil
}

// Arg is one input of a call as the composer knows it.
type Arg struct {
	Given  bool
	Scalar *plan.Value // a weak scalar: Type.Dtype is meaningless then
	Type   plan.Type
	State  *plan.State
}

// Infer is what inference may ask of a call.
type Infer struct {
	Inputs []Arg // in the signature's order; a variadic input's members at the end
	Args   plan.Args
	State  *plan.State // of the `state` key

	// Weight gives the type of a weight input whose shape the operator knows: it is checked against the checkpoint's
	// tensor where there is one. like is the dtype it has where there is none.
	Weight func(input string, want shape.Shape, like dtype.Dtype) (plan.Type, error)
	// Fresh is a length that only the state knows at run time.
	Fresh func(state *plan.State) shape.Dim
	// Least is the least value that a symbol of a dim has under the guards that lead here; nil: 1 for each.
	Least func(symbol string) int
}

// AtLeast is the least value that a dim can have; false where it cannot be told.
func (c *Infer) AtLeast(d shape.Dim) (int, bool) {
	n := d.Const
	for _, t := range d.Terms {
		if t.Factor < 0 {
			return 0, false
		}
		least := 1
		if c.Least != nil {
			least = max(1, c.Least(t.Symbol))
		}
		n += t.Factor * least
	}
	return n, true
}

// In is the i-th input.
func (c *Infer) In(i int) Arg {
	if i < len(c.Inputs) {
		return c.Inputs[i]
	}
	return Arg{}
}

// Type is the type of the i-th input.
func (c *Infer) Type(i int) plan.Type { return c.In(i).Type }

// Promoted is the dtype of an element-wise operation on arguments: MLX's promotion, in which a weak scalar (a Python
// number) takes the arrays' dtype, except that a float scalar makes integers float32 and a number makes bool a number.
func Promoted(args ...Arg) dtype.Dtype {
	var out dtype.Dtype
	have := false
	for _, a := range args {
		if a.Given && a.Scalar == nil {
			if !have {
				out, have = a.Type.Dtype, true
			} else {
				out = dtype.Promote(out, a.Type.Dtype)
			}
		}
	}
	for _, a := range args {
		if a.Given && a.Scalar != nil {
			out = weak(out, have, a.Scalar.Kind)
			have = true
		}
	}
	return out
}

// ScalarDtype is the dtype that a weak scalar takes beside an array of dtype d.
func ScalarDtype(v plan.Value, d dtype.Dtype) dtype.Dtype { return weak(d, true, v.Kind) }

func weak(d dtype.Dtype, have bool, k plan.Kind) dtype.Dtype {
	switch k {
	case plan.Float:
		if !have || !d.IsFloat() && d != dtype.Complex64 {
			return dtype.Float32
		}
	case plan.Int:
		if !have || d == dtype.Bool {
			return dtype.Int32
		}
	default:
		if !have {
			return dtype.Bool
		}
	}
	return d
}
