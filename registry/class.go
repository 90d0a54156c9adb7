package registry

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/port"
)

// Class fills a port: it computes with the port's weights.
type Class struct {
	Name    string
	Doc     string
	Kinds   []string // of ports
	Params  []Param
	MinRows int // 0: 1
	MaxRows int // 0: no limit
	// Numerics is "" for an exact class (the very MLX calls that mlx-lm makes), else the bound and how it was measured.
	Numerics string
	// Parts are the roles that a form takes from the parts' own bindings; nil for a class that holds weights itself.
	Parts []string
	// ExactFor lists the storages of which this is the exact class.
	ExactFor []string
	// Accept says why the class does not take the weights (by role), or nil.
	Accept func(kind string, weights map[string]plan.Facts) error
	// Build makes the function that runs.
	Build func(b *ClassBuild) (Run, error)
}

// ClassBuild is what a class's constructor may ask.
type ClassBuild struct {
	Args       plan.Args
	Kind       string
	Weights    map[string]Opened // by role; "weight" where the port has one
	Parts      map[string]Run    // of a form
	Activation Run               // (gate, up) -> [.., width]; nil where the port has none
	Transposed bool              // multi_linear
	Device     Device
	Scope      *mlx.Scope
	Keep       func(mlx.Array) mlx.Array
	Memo       map[any]any // as Build's
}

// Opened is a weight with its arrays; null arrays are not there.
type Opened struct {
	Facts                        plan.Facts
	Weight, Scales, Biases, Bias mlx.Array
}

func (c *Class) check() error {
	if c.Doc == "" || c.Accept == nil || c.Build == nil || len(c.Kinds) == 0 {
		return errors.New("a class has a Doc, Kinds, Accept and Build")
	}
	for _, k := range c.Kinds {
		if port.Kinds[k] == nil {
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
