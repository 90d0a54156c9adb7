package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/registry"
)

// Register adds every operator, state and class of this package.
func Register(r *registry.Registry) error {
	for _, family := range [][]*registry.Operator{
		norms(), rotary(), attention(), caches(), heads(), views(), indexing(), joining(), arithmetic(), unaries(),
		constants(), reductions(), selections(), activations(), recurrent(), codes(),
	} {
		for _, o := range family {
			if err := r.AddOperator(o); err != nil {
				return fmt.Errorf("ops: %w", err)
			}
		}
	}
	for _, s := range []*registry.StateKind{cacheKind(), arrayKind()} {
		if err := r.AddState(s); err != nil {
			return fmt.Errorf("ops: %w", err)
		}
	}
	for _, family := range [][]*registry.Class{
		{dense(), denseRows(), affine(), affineDense(), affineRows(), affineRowsQ8(), affineRowsQ16(), affineMMA(), affinePanels(), affinePanelsQ8(), affinePanelsQ16()}, trellisClasses(), tilesClasses(),
		{unfusedMLP(), gateUpUnfused(), mlpGateDown(), mlpFused(), mlpPanels(), unfusedGroup(), affineGroupQ16(), affineGroupPanelsQ16()}, {expertsRows(), expertsFused(), expertsStreamed()},
		{aneAffineSplit(), aneMLPSplit()}, kvReads(),
	} {
		for _, c := range family {
			if err := r.AddClass(c); err != nil {
				return fmt.Errorf("ops: %w", err)
			}
		}
	}
	return nil
}

// Default is a registry with everything that this package has.
func Default() (*registry.Registry, error) {
	r := registry.New()
	if err := Register(r); err != nil {
		return nil, err
	}
	return r, nil
}
