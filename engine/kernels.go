package engine

import (
	"fmt"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// checkKernels holds every class that a program runs to the kernels that this build has for the device ("": a CPU), before
// a weight is opened. A plan may be composed with classes that have none.
func checkKernels(p *plan.Plan, r *registry.Registry, device string) error {
	if device == "" {
		device = "cpu"
	}
	seen := make([]bool, len(p.Instances))
	var visit func(i int) error
	visit = func(i int) error {
		if seen[i] {
			return nil
		}
		seen[i] = true
		inst := &p.Instances[i]
		if class := r.Class(inst.Class); class != nil && !class.HasKernel(device) {
			return at(inst.Path, inst.At, fmt.Errorf("class %s has no kernel for this device (%s) in this build; kernels: %s. "+
				"Bind another class here, or leave the variant out", inst.Class, device, class.KernelText()))
		}
		for _, part := range inst.Parts {
			if err := visit(part.Instance); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range p.States {
		if s := &p.States[i]; s.Bits > 0 {
			return at(s.Path, s.At, fmt.Errorf("the cache is asked for in %s; this build's caches hold keys and values as numbers", s.Stored()))
		}
	}
	for g := range p.Programs {
		for k := range p.Programs[g].Calls {
			if i := p.Programs[g].Calls[k].Instance; i >= 0 {
				if err := visit(i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
