package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/graphrun/graphrun/mlx"
)

type versionCmd struct {
	JSON bool `name:"json" help:"As one JSON object."`
}

// version is what a report of a problem should name.
type version struct {
	Version  string `json:"version"` // of the module; (devel) for a working folder
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the working folder had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	MLX      string `json:"mlx,omitempty"`
	MLXC     string `json:"mlx_c,omitempty"`
}

func (c *versionCmd) Run(t terminal) error {
	v := buildVersion()
	if c.JSON {
		return json.NewEncoder(t.out).Encode(v)
	}
	line := "graphrun " + v.Version
	if v.Revision != "" {
		line += " " + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			line += "+changes"
		}
	}
	backend := "without MLX"
	if v.MLX != "" {
		backend = fmt.Sprintf("MLX %s, mlx-c %s", v.MLX, v.MLXC)
	}
	_, err := fmt.Fprintf(t.out, "%s (%s, %s, %s)\n", line, backend, v.Go, v.Platform)
	return err
}

func buildVersion() version {
	v := version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if b, ok := debug.ReadBuildInfo(); ok {
		if b.Main.Version != "" {
			v.Version = b.Main.Version
		}
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	if mlx.Available {
		info := mlx.Info()
		v.MLX, v.MLXC = info.MLX, info.MLXC
	}
	return v
}
