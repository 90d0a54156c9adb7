package model

import (
	"fmt"
	"strconv"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// deviceFacts is what a variant may ask of the device that the engine will run on: "" is MLX's default, and a CPU in a
// build without MLX.
func deviceFacts(name string) (compose.Device, error) {
	d := mlx.DefaultDevice()
	switch name {
	case "":
	case "cpu":
		d = mlx.DeviceCPU
	case "gpu":
		d = mlx.DeviceGPU
	default:
		return compose.Device{}, fmt.Errorf("device %q is neither cpu nor gpu", name)
	}
	facts := compose.Device{Kind: "cpu"}
	if d.IsGPU() {
		facts.Kind = "gpu"
	}
	if info, err := d.Info(); err == nil {
		facts.Arch = info["architecture"]
		facts.Memory, _ = strconv.ParseInt(info["memory_size"], 10, 64)
	}
	return facts, nil
}

// memoryOf answers what rules ask of a plan's memory.
func memoryOf(reg *registry.Registry) func(p *plan.Plan, context, batch int) ([]compose.MemoryLine, error) {
	return func(p *plan.Plan, context, batch int) ([]compose.MemoryLine, error) {
		e, err := engine.EstimateMemory(p, reg, context, batch, engine.DefaultPrefillStep)
		if err != nil {
			return nil, err
		}
		lines := make([]compose.MemoryLine, len(e.Items))
		for i, item := range e.Items {
			lines[i] = compose.MemoryLine{Name: item.Name, Bytes: item.Bytes}
		}
		return lines, nil
	}
}
