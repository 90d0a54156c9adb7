package model

import (
	"fmt"
	"strconv"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/mlx"
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
