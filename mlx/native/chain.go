package native

import "github.com/graphrun/graphrun/mlx"

// Chain is a run of native primitives that was recorded. MLX walks, allocates and hands on each primitive of a graph every
// time; of a step of one row that costs as much as a third of its arithmetic. A chain has done so once: it holds the tasks
// of its primitives and the memory between them, and runs them as one primitive of MLX's graph. The tasks are the very ones,
// so are the bits.
//
// What changes from one run to the next is the inputs, which are copied into the chain's memory, and where in the states
// the new position stands. All else must be as it was: the states' buffers above all, into which the chain writes.
type Chain struct {
	handle  uintptr
	inputs  int
	outputs int
}

// Ends are what a call was given, and what it made of it.
type Ends struct {
	Name    string // in errors
	In, Out []mlx.Array
}

// What Calls says of a call that writes to no state.
const (
	Foreign = -2 // not to be recorded
	Pure    = -1
)

// Calls tells, of calls whose results are not evaluated, which are native primitives alone (and views), made of what they
// were given and of known arrays, and to which state each appends.
func Calls(known []mlx.Array, calls []Ends) []int { return nativeCalls(known, calls) }

// NewChain records what makes out and also of in and of known arrays; the latter are used as they are. Nothing is
// evaluated. An error of a run names the call whose primitive it is. The caller frees the chain.
func NewChain(w *Workers, known, in, out, also []mlx.Array, calls []Ends) (*Chain, error) {
	h, err := newChain(w.handle, known, in, append(append([]mlx.Array(nil), out...), also...), len(out), calls)
	if err != nil {
		return nil, err
	}
	return &Chain{h, len(in), len(out)}, nil
}

// Run is the outputs for other inputs, at other places of the states (by their numbers). The runs of a chain are to be
// evaluated in their order, on one stream.
func (c *Chain) Run(s *mlx.Scope, in []mlx.Array, places []Place) []mlx.Array {
	if s.Err() != nil {
		return make([]mlx.Array, c.outputs)
	}
	return c.run(s, in, places)
}

// Nodes is how many primitives are in it.
func (c *Chain) Nodes() int { return chainNodes(c.handle) }

// Free lets go of the chain; a run that is under way ends well.
func (c *Chain) Free() {
	freeChain(c.handle)
	c.handle = 0
}
