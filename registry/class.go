package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/port"
)

// StateRead is the kind of a class that reads a state, where others have the kind of port that they fill.
const StateRead = "read"

// Class fills a port: it computes with the port's weights. Or it reads a state (StateRead). All but Build is its
// signature: plans are composed with it, whether or not this build has a kernel.
type Class struct {
	Name    string
	Doc     string
	Kinds   []string // of ports, or StateRead
	Params  []Param
	MinRows int  // 0: 1
	MaxRows int  // 0: no limit
	OneRow  bool // bound to one row count each time, which it is made for: no range
	// Needs is the device that the class is for: "" any, "gpu", "ane" (one with a Neural Engine).
	Needs string
	// Numerics is "" for an exact class (the very MLX calls that mlx-lm makes), else the bound and how it was measured.
	Numerics string
	// Parts are the roles that a form takes from the parts' own bindings; nil for a class that holds weights itself.
	Parts []string
	// Adapters: the class adds the sums of adapters that touch its weights itself (ClassBuild.Factors).
	Adapters bool
	// Before and After are operators that the class can compute in its own call, where a variant's `fuse` names them: of its
	// port's input, and of its result, where nothing else reads the value between. Build then finds their calls, and Run has
	// their other inputs behind the port's, those of Before first. The numbers are those of the calls one by one.
	Before, After []string
	// Activations are the operators between gate and up that the class computes itself; nil: any.
	Activations []string
	// ExactFor lists the storages of which this is the exact class.
	ExactFor []string
	// Accept says why the class does not take the weights (by role), or nil. Of a StateRead the role is "state".
	Accept func(kind string, weights map[string]plan.Facts) error
	// AcceptArgs says what is wrong with parameters of the right types, or nil: an *ArgError names one. nil: all will do.
	AcceptArgs func(args plan.Args) error
	// Beside is the bytes that the class makes of a weight and holds beside it, for activations of a dtype; nil: none.
	Beside func(weight plan.Facts, x dtype.Dtype) int64
	// Build makes the function that runs; nil where this build has no kernel for any device.
	Build func(b *ClassBuild) (Run, error)
	// Kernels are the kinds of device that Build serves; nil: every kind.
	Kernels []string
	// KernelOf is the class whose kernel this one's is, under another name: devices to come may have one of its own. "": none.
	KernelOf string
}

// HasKernel tells whether this build can run the class on a kind of device.
func (c *Class) HasKernel(device string) bool {
	return c.Build != nil && (c.Kernels == nil || slices.Contains(c.Kernels, device))
}

// KernelText says for which devices this build has a kernel.
func (c *Class) KernelText() string {
	switch {
	case c.Build == nil:
		return "none in this build: a signature, to compose with"
	case c.Kernels == nil:
		return "every device" + c.shared()
	}
	return strings.Join(c.Kernels, ", ") + c.shared()
}

func (c *Class) shared() string {
	if c.KernelOf == "" {
		return ""
	}
	return ", that of " + c.KernelOf
}

// Suits says why the class is not for a device, or nil.
func (c *Class) Suits(device string, ane bool) error {
	switch {
	case c.Needs == "ane" && !ane:
		return errors.New("it needs a Neural Engine, which this device does not have")
	case c.Needs != "" && c.Needs != "ane" && c.Needs != device:
		return fmt.Errorf("it is for a %s; this device is a %s", c.Needs, device)
	}
	return nil
}

// ClassBuild is what a class's constructor may ask.
type ClassBuild struct {
	Args       plan.Args
	Kind       string
	Roles      []string          // of the weights and parts, in the port's order: a group has its results so
	Weights    map[string]Opened // by role; "weight" where the port has one
	Parts      map[string]Run    // of a form
	Activation Run               // (gate, up) -> [.., width]; nil where the port has none
	// Factors are the active adapters' of each role's weight, of a class that adds their sums itself.
	Factors    map[string][]Factor
	Transposed bool       // multi_linear
	Before     *plan.Call // of Class.Before, that this one takes in; nil: none
	After      *plan.Call // of Class.After
	Device     Device
	Workers    *native.Workers // threads and kernels of the CPU; nil on other devices
	Scope      *mlx.Scope
	Keep       func(mlx.Array) mlx.Array
	Memo       map[any]any  // as Build's
	Cleanup    func(func()) // as Build's
}

// Opened is a weight with its arrays; null arrays are not there.
type Opened struct {
	Facts                        plan.Facts
	Weight, Scales, Biases, Bias mlx.Array
}

// Factor is an adapter's pair for a weight, of whose product with x it changes the sum: + Scale * ((x A) B). A [inputs, rank]
// and B [rank, outputs] are float32 and contiguous.
type Factor struct {
	A, B  mlx.Array
	Scale float64
}

func (c *Class) check() error {
	if c.Doc == "" || c.Accept == nil || len(c.Kinds) == 0 {
		return errors.New("a class has a Doc, Kinds and Accept")
	}
	for _, k := range c.Kinds {
		if port.Kinds[k] == nil && k != StateRead {
			return fmt.Errorf("no port kind %s", k)
		}
	}
	return checkParams(c.Params, map[string]bool{})
}

// Takes tells whether the class fills ports of a kind.
func (c *Class) Takes(kind string) bool {
	for _, k := range c.Kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// ExactClass is the exact class of a port kind for a storage, or nil.
func (r *Registry) ExactClass(kind, storage string) *Class {
	for _, c := range r.Classes() {
		if !c.Takes(kind) {
			continue
		}
		for _, s := range c.ExactFor {
			if s == storage {
				return c
			}
		}
	}
	return nil
}
