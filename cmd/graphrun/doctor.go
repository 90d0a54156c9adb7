package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/ops"
)

type doctorCmd struct {
	JSON bool `name:"json" help:"As one JSON object."`
}

// Run ends with exit code 1 where something is wrong or missing.
func (c *doctorCmd) Run(t terminal) error {
	info := mlx.Info()
	if c.JSON {
		e := json.NewEncoder(t.out)
		e.SetIndent("", "  ")
		if err := e.Encode(struct {
			Version version `json:"graphrun"`
			mlx.BuildInfo
		}{buildVersion(), info}); err != nil {
			return err
		}
	} else if err := report(t, info); err != nil {
		return err
	}
	if len(info.Problems) > 0 {
		return exit(exitFindings)
	}
	return nil
}

func report(t terminal, b mlx.BuildInfo) error {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, value)
		}
	}
	v := buildVersion()
	line("graphrun", strings.TrimSpace(v.Version+" "+v.Revision)+", "+v.Go+", "+v.Platform)
	if b.Available {
		line("MLX", orUnknown(b.MLX)+expected(b.MLX, b.MLXExpected, "mlx-c was built for"))
		line("mlx-c", orUnknown(b.MLXC)+expected(b.MLXC, b.MLXCExpected, "the binding was generated from")+from(b.MLXCSource))
		line("backend", b.Backend)
		for _, d := range b.Devices {
			text := d.Name
			if d.Name == b.Default {
				text += " (default)"
			}
			for _, key := range slices.Sorted(maps.Keys(d.Info)) {
				text += ", " + strings.ReplaceAll(key, "_", " ") + " " + d.Info[key]
			}
			line("device", text)
		}
		line("BLAS", blas(b.BLAS))
	} else {
		line("MLX", "not in this build")
	}
	line("classes", kernels())
	line("CPU", fmt.Sprintf("%s, %d cores, %s", b.CPU.Arch, b.CPU.Cores, orUnknown(strings.Join(b.CPU.Features, " "))))
	if err := w.Flush(); err != nil {
		return err
	}
	if len(b.Problems) == 0 {
		_, err := fmt.Fprintln(t.out, "\nall is well")
		return err
	}
	fmt.Fprintln(t.out)
	for _, p := range b.Problems {
		if _, err := fmt.Fprintf(t.out, "problem: %s\n", p); err != nil {
			return err
		}
	}
	return nil
}

// kernels counts the classes that this build can run on its default device, and names the others.
func kernels() string {
	reg, err := ops.Default()
	if err != nil {
		return err.Error()
	}
	kind := "cpu"
	if mlx.DefaultDevice().IsGPU() {
		kind = "gpu"
	}
	var without []string
	for _, c := range reg.Classes() {
		if !c.HasKernel(kind) {
			without = append(without, c.Name)
		}
	}
	all := len(reg.Classes())
	text := fmt.Sprintf("%d of %d have a kernel for the %s", all-len(without), all, kind)
	if len(without) > 0 {
		text += "; to compose with only: " + strings.Join(without, " ")
	}
	return text
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func expected(have, want, who string) string {
	if want == "" || have == want {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", who, want)
}

func from(source string) string {
	if source == "" {
		return ""
	}
	return ", from " + source
}

func blas(b mlx.BLASInfo) string {
	text := orUnknown(b.Name)
	if b.Core != "" {
		text += ", " + b.Core + " kernels"
	}
	if b.Threads != "" {
		text += ", " + b.Threads + " threads"
	}
	if b.File != "" {
		text += ", " + b.File
	}
	if b.Config != "" {
		text += " (" + b.Config + ")"
	}
	return text
}
