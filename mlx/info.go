package mlx

import (
	"fmt"
	"runtime"
	"sort"
)

// BuildInfo is what the binary is linked with and runs on, for `graphrun doctor`.
type BuildInfo struct {
	Available    bool         `json:"available"`
	MLX          string       `json:"mlx,omitempty"`            // of the library that is loaded
	MLXExpected  string       `json:"mlx_expected,omitempty"`   // that mlx-c was built for
	MLXC         string       `json:"mlx_c,omitempty"`          // of the headers of the build
	MLXCExpected string       `json:"mlx_c_expected,omitempty"` // that the binding was generated from
	MLXCSource   string       `json:"mlx_c_source,omitempty"`   // crate, folder, system, brew
	Backend      string       `json:"backend,omitempty"`        // cpu, cuda13
	Default      string       `json:"default_device,omitempty"`
	Devices      []DeviceInfo `json:"devices,omitempty"`
	BLAS         BLASInfo     `json:"blas"`
	CPU          CPUInfo      `json:"cpu"`
	Problems     []string     `json:"problems,omitempty"` // what is wrong or missing, with what mends it
}

// DeviceInfo is a device and what MLX knows of it.
type DeviceInfo struct {
	Name string            `json:"name"`
	Info map[string]string `json:"info,omitempty"`
}

// BLASInfo is the library that float32 matrix products on the CPU go through.
type BLASInfo struct {
	Name    string `json:"name,omitempty"`   // OpenBLAS, reference, Accelerate
	File    string `json:"file,omitempty"`   // where cblas_sgemm comes from
	Config  string `json:"config,omitempty"` // as OpenBLAS tells it
	Core    string `json:"core,omitempty"`   // its kernels
	Threads string `json:"threads,omitempty"`
}

// CPUInfo is the processor.
type CPUInfo struct {
	Arch     string   `json:"arch"`
	Cores    int      `json:"cores"`
	Features []string `json:"features"`
}

// Info looks at what is linked and at the machine. It needs no model and takes no memory to speak of.
func Info() BuildInfo {
	info := BuildInfo{Available: Available, CPU: CPUInfo{runtime.GOARCH, runtime.NumCPU(), cpuFeatures()}}
	fillInfo(&info)
	return info
}

// Err is an error when the versions do not fit each other.
func (b BuildInfo) Err() error {
	if !b.Available {
		return ErrNoMLX
	}
	if p := b.mismatches(); len(p) > 0 {
		return fmt.Errorf("%s", p[0])
	}
	return nil
}

func (b BuildInfo) mismatches() []string {
	var out []string
	if b.MLX != b.MLXExpected {
		out = append(out, fmt.Sprintf("MLX %s is loaded, but mlx-c %s was built for MLX %s: run `make setup` again, or take the "+
			"other MLX off the library path", b.MLX, b.MLXC, b.MLXExpected))
	}
	if b.MLXC != b.MLXCExpected {
		out = append(out, fmt.Sprintf("mlx-c is %s, but the binding was generated from mlx-c %s: run `make generate`, or use that one",
			b.MLXC, b.MLXCExpected))
	}
	return out
}

func sortedFeatures(has map[string]bool) []string {
	out := []string{}
	for name, ok := range has {
		if ok {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}
