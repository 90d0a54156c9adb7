package registry

import (
	"slices"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
)

// Run is an operator or a bound class, made and ready. in are the call's inputs in the signature's order (a null array
// for one that is not given); the results are owned by the scope. Errors go into the scope; a Run does not branch on
// anything but the facts of its own state.
type Run func(c *Call, in []mlx.Array) []mlx.Array

// Call is what a running operator sees of the forward.
type Call struct {
	*mlx.Scope
	States []StateValue // by plan index
	Memo   map[any]any  // shared by the operators of one forward, as masks are; emptied between forwards

	// B, T and S are this forward's sequences, new tokens of each, and T plus the positions taken before: what dims
	// given as parameters (reshape, broadcast, constant) are computed from.
	B, T, S int
}

// Build is what a constructor may ask.
type Build struct {
	Args   plan.Args
	Inputs []Arg       // types of the inputs, as Infer saw them
	Types  []plan.Type // of the results
	State  int         // index of the `state` key's state in Call.States, -1: none
	// States are the indices of inputs of kind State, by input; -1 elsewhere.
	States []int
	Device Device
	// Workers are threads and kernels of the CPU; nil on other devices.
	Workers *native.Workers
	// Scope is for constants made at load (frequencies): Keep them on it, the engine frees them with the plan.
	Scope *mlx.Scope
	Keep  func(mlx.Array) mlx.Array
	// Memo is shared by all constructors of a plan, for what many calls have alike: frequencies, compiled
	// activations. nil where nothing is shared.
	Memo map[any]any
	// Cleanup registers what is to run, on the engine's thread, when the plan is let go. nil where nothing is.
	Cleanup func(func())
}

// Device is what a constructor may ask of the machine it builds for.
type Device struct {
	Kind string // cpu, gpu
	Arch string
}

// Scalar makes the array of a weak scalar beside arrays of dtype d, once, at load.
func (b *Build) Scalar(v float64, d dtype.Dtype) (mlx.Array, error) {
	a, err := mlx.ScalarOf(v, d)
	if err != nil {
		return mlx.Array{}, err
	}
	return b.Keep(a), nil
}

// StateValue is a state's contents during a session. Facts are those before the forward until Begin is called again.
type StateValue interface {
	// Begin starts a forward: facts asked from now on are those of this moment.
	Begin()
	// Offset is the number of positions taken before this forward.
	Offset() int
	// Arrays are the arrays to evaluate with a forward; owned by the state.
	Arrays() []mlx.Array
	// Reset forgets everything.
	Reset()
	// Free lets go of the arrays.
	Free()
}

// InPlace is a state to which native kernels append one position without a new array, where there is room: an engine may
// record such steps and run them again (native.Chain).
type InPlace interface {
	StateValue
	// InPlace tells whether the next position goes into the arrays that are there. held changes whenever they become others.
	InPlace() (held int, ok bool)
	// Take counts a position that a chain appends, and says where it stands.
	Take() native.Place
}

// KV is a cache of keys and values.
type KV interface {
	StateValue
	// Update appends k [B, heads, T, dim] and v [B, heads, T, value dim] and gives what attention reads.
	Update(s *mlx.Scope, k, v mlx.Array) (mlx.Array, mlx.Array)
	// Read gives what attention reads without writing.
	Read(s *mlx.Scope) (mlx.Array, mlx.Array)
	// Mask is the mask of T new positions: as mlx-lm makes it, none, "causal" or a boolean array [T, S].
	Mask(c *Call, T int, array bool) Mask
}

// Mask is what scaled_dot_product_attention takes.
type Mask struct {
	Mode  string // "" or "causal"
	Array mlx.Array
}

// ArrayValue is a state that is one array; zeros until it is first set.
type ArrayValue interface {
	StateValue
	// Value is the array for B sequences.
	Value(s *mlx.Scope, B int) mlx.Array
	// Set replaces it: what the next forward sees.
	Set(s *mlx.Scope, a mlx.Array)
}

// StateKind is a kind of state.
type StateKind struct {
	Name   string
	Doc    string
	Fields []Param
	// New makes an empty state for one session.
	New func(decl plan.State) (StateValue, error)
	// Rollback is how rejected tokens are taken back: by itself, or, where that is "none", in a way that a variant chooses.
	Rollback func(decl plan.State) Rollback
	// Bytes is what one position (per sequence) and the fixed part take.
	Bytes func(decl plan.State) (perPosition, fixed int64)
}

// Rollback is what a state can do about tokens that were written to it and are rejected: `trim` (the last positions are cut
// off), `window` (likewise, as far as the positions that they pushed out are still held), `snapshot` (a copy from before the
// forward is put back), `replay` (that, and the accepted tokens are run again).
type Rollback struct {
	Self    string   // trim, window, none
	Choices []string // snapshot, replay
}

// RollbackOf is how a state takes back tokens where no variant says otherwise.
func (k *StateKind) RollbackOf(decl plan.State) string {
	if k.Rollback == nil {
		return "none"
	}
	return k.Rollback(decl).Self
}

// CanRollBack tells whether a state can take back tokens in a way that a variant chose.
func (k *StateKind) CanRollBack(decl plan.State, way string) bool {
	return k.Rollback != nil && slices.Contains(k.Rollback(decl).Choices, way)
}
