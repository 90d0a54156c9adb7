package compose_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
)

var update = flag.Bool("update", false, "write what the faulty files give into testdata")

// run composes the files of a case in a folder of their own and writes what was found, a line each.
func run(t *testing.T, files []txtar.File, graph string) string {
	t.Helper()
	dir := t.TempDir()
	var config *header.Config
	var variants, rules []string
	var shipped fs.FS = graphs.Files
	var given struct {
		Device          compose.Device
		Use             compose.Use
		NoGraph         bool
		Model, Example  string
		Variants, Rules []string // names, or files of the case
	}
	var checkpoint *header.Checkpoint
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, f.Data, 0o644))
		if strings.HasPrefix(f.Name, "shipped/") {
			shipped = os.DirFS(filepath.Join(dir, "shipped"))
		}
		if f.Name == "variant.yaml" {
			variants = append(variants, name)
		}
		if f.Name == "facts.json" {
			require.NoError(t, json.Unmarshal(f.Data, &given))
			here := func(names []string) (out []string) {
				for _, n := range names {
					if strings.HasSuffix(n, ".yaml") {
						n = filepath.Join(dir, n)
					}
					out = append(out, n)
				}
				return out
			}
			variants, rules = append(variants, here(given.Variants)...), append(rules, here(given.Rules)...)
		}
		if f.Name == "tensors.json" {
			checkpoint = tensors(t, f.Data)
		}
		if f.Name == "rules.yaml" {
			rules = append(rules, name)
		}
		if f.Name == "config.json" {
			var err error
			config, err = header.ReadConfig(name)
			require.NoError(t, err)
		}
	}
	if checkpoint != nil && config != nil {
		var err error
		checkpoint.Config = config
		checkpoint.Quantization, err = header.ReadQuantization(config)
		require.NoError(t, err)
	}
	if graph = filepath.Join(dir, graph); given.NoGraph {
		graph = ""
	}
	reg, err := ops.Default()
	require.NoError(t, err)
	request := compose.Request{Graph: graph, Model: given.Model, Example: given.Example, Shipped: shipped, Registry: reg, Config: config, Checkpoint: checkpoint, Variants: variants, Exact: true, Rules: rules, Device: given.Device, Use: given.Use,
		Memory: func(p *plan.Plan, context, batch int) ([]compose.MemoryLine, error) {
			return []compose.MemoryLine{{Name: "weights", Bytes: 3 << 20}, {Name: "states", Bytes: int64(context*batch) << 10}}, nil
		}}
	r, err := compose.Compose(context.Background(), request)
	require.NoError(t, err)
	sameWithoutCopies(t, request, r)
	var b strings.Builder
	for _, d := range r.Diagnostics.Sorted() {
		fmt.Fprintf(&b, "%s: %s[%s]: %s\n", d.At, d.Severity, d.Code, d.Message)
		if d.Path != "" {
			fmt.Fprintf(&b, "  in: %s\n", d.Path)
		}
		for _, n := range d.Related {
			fmt.Fprintf(&b, "  note: %s: %s\n", n.At, n.Message)
		}
		for _, h := range d.Help {
			fmt.Fprintf(&b, "  help: %s\n", h)
		}
	}
	if len(r.Examples) > 0 {
		fmt.Fprintf(&b, "examples: %s\n", strings.Join(r.Examples, ", "))
	}
	if r.Plan != nil {
		fmt.Fprintf(&b, "composed: %d calls\n", len(r.Plan.Programs[0].Calls))
		writeInputs(&b, r.Plan)
		if len(variants) > 0 {
			writeRows(&b, r.Plan)
		}
	}
	return strings.ReplaceAll(b.String(), dir+string(filepath.Separator), "")
}

// tensors makes a checkpoint's headers of {name: [dtype, dims…]}.
func tensors(t *testing.T, data []byte) *header.Checkpoint {
	t.Helper()
	var table map[string][]any
	require.NoError(t, json.Unmarshal(data, &table))
	c := &header.Checkpoint{Path: "checkpoint", Format: "safetensors"}
	for name, v := range table {
		d, ok := dtype.Parse(v[0].(string))
		require.True(t, ok, v[0])
		h := header.Tensor{Name: name, Dtype: d, Stored: strings.ToUpper(v[0].(string)), File: "model.safetensors"}
		for _, n := range v[1:] {
			h.Shape = append(h.Shape, int(n.(float64)))
		}
		c.Tensors = append(c.Tensors, h)
	}
	sort.Slice(c.Tensors, func(i, j int) bool { return c.Tensors[i].Name < c.Tensors[j].Name })
	return c
}

// writeRows writes what each port of the first layer runs.
func writeRows(b *strings.Builder, p *plan.Plan) {
	for _, port := range p.Ports {
		if !strings.HasPrefix(port.Path, "layers.0.") {
			continue
		}
		fmt.Fprintf(b, "%s:", port.Path)
		for _, r := range port.Rows {
			fmt.Fprintf(b, " %d..%d %s", r.First, r.Last, p.Instances[r.Instance].Class)
			for _, part := range p.Instances[r.Instance].Parts {
				fmt.Fprintf(b, " %s=%s", part.Role, p.Instances[part.Instance].Class)
			}
			if r.Adapted >= 0 {
				fmt.Fprintf(b, " adapted=%s", p.Instances[r.Adapted].Class)
			}
			b.WriteString(";")
		}
		b.WriteString("\n")
	}
	for _, g := range p.Programs {
		fmt.Fprintf(b, "program rows %d..%d, %d results, %d calls\n", g.First, g.Last, len(g.Results), len(g.Calls))
		writeFused(b, p, &g)
	}
	for _, s := range p.States {
		if s.Scheme != "" && s.Bits == 0 {
			fmt.Fprintf(b, "%s: %s stored as %s\n", s.Path, s.Dtype, s.Stored())
		}
		for _, r := range s.Reads {
			fmt.Fprintf(b, "%s: read in %s at %d..%d by %s\n", s.Path, r.Entry, r.First, r.Last, r.Class)
		}
	}
	for _, s := range p.Submit {
		fmt.Fprintf(b, "submit %d..%d %s\n", s.First, s.Last, plan.Value{Kind: plan.Map, Map: entries(s.Args)}.Text())
	}
}

// writeFused writes what runs as one in a program, in its first layer and behind the layers.
func writeFused(b *strings.Builder, p *plan.Plan, g *plan.Program) {
	for i := range g.Fused {
		u := &g.Fused[i]
		var names []string
		for _, k := range u.Calls() {
			if c := &g.Calls[k]; c.Port >= 0 {
				names = append(names, p.Ports[c.Port].Path)
			} else {
				names = append(names, c.Operator)
			}
		}
		var path, runs string
		if u.Core >= 0 {
			path, runs = g.Calls[u.Core].Path, g.Calls[u.Core].Operator
		} else {
			path, runs = p.Instances[u.Instance].Path, p.Instances[u.Instance].Class
		}
		if strings.HasPrefix(path, "layers.0.") || !strings.HasPrefix(path, "layers.") {
			fmt.Fprintf(b, "  %s in the place of %s: %s\n", runs, g.Calls[u.Place].At, strings.Join(names, ", "))
		}
	}
}

// writeInputs writes the programs of an entry that may be called with more or fewer inputs, and what is dropped of some.
func writeInputs(b *strings.Builder, p *plan.Plan) {
	inputs := func(g *plan.Program) string {
		var names []string
		for _, in := range g.Inputs {
			names = append(names, in.Name)
		}
		return strings.Join(names, ", ")
	}
	for i := range p.Programs {
		if g := &p.Programs[i]; len(g.Results) > 0 && inputs(g) != inputs(&p.Programs[0]) && g.Entry == p.Programs[0].Entry {
			fmt.Fprintf(b, "given %s: %d calls\n", inputs(g), len(g.Calls))
		}
	}
	for _, d := range p.Dropped {
		if d.Some {
			fmt.Fprintf(b, "dropped in some: %s (%s)\n", d.What, d.Why)
		}
	}
}

func entries(args plan.Args) []plan.Entry {
	out := make([]plan.Entry, len(args))
	for i, a := range args {
		out[i] = plan.Entry{Key: a.Name, Value: a.Value}
	}
	return out
}

// TestFaultyFiles holds every diagnostic to its golden text. `go test ./compose -update` writes them anew.
func TestFaultyFiles(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			require.NoError(t, err)
			var want *txtar.File
			for i := range a.Files {
				if a.Files[i].Name == "want" {
					want = &a.Files[i]
				}
			}
			require.NotNil(t, want, "the case has no file named want")
			got := run(t, a.Files, a.Files[0].Name)
			if *update {
				want.Data = []byte(got)
				require.NoError(t, os.WriteFile(name, txtar.Format(a), 0o644))
				return
			}
			require.Equal(t, string(want.Data), got)
		})
	}
}
