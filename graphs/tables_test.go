package graphs_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/plan"
)

var spaces = regexp.MustCompile(`  +`)

// TestVariantTables holds what each shipped variant decides for its examples: ports, row ranges, classes, the line that won,
// what reads the states and when work is handed over. `go test ./graphs -run VariantTables -update` writes it anew.
func TestVariantTables(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	files, err := fs.Glob(graphs.Files, "variants/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(graphs.Files, file)
			require.NoError(t, err)
			var list diag.List
			doc := syntax.Parse(source.Parse(file, data, &list), &list)
			var b bytes.Buffer
			for i := range doc.Examples {
				number := string(rune('1' + i))
				r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Model: name, Example: number, Exact: true})
				require.NoError(t, err)
				require.Empty(t, r.Diagnostics.Sorted())
				require.Contains(t, r.Plan.Variants, name)
				// The programs of all an entry's results decide as those of some do.
				most := map[string]int{}
				for _, g := range r.Plan.Programs {
					most[g.Entry] = max(most[g.Entry], len(g.Results))
				}
				r.Plan.Programs = slices.DeleteFunc(r.Plan.Programs, func(g plan.Program) bool { return len(g.Results) < most[g.Entry] })
				facts := explain.Facts{Config: r.Example.Config, Device: strings.TrimSpace(r.Example.Device.Kind + " " + r.Example.Device.Arch)}
				report, err := explain.Make(r.Plan, reg, facts)
				require.NoError(t, err)
				var text bytes.Buffer
				require.NoError(t, report.WriteText(&text))
				b.WriteString("example " + number + ", " + r.Example.Name + "\n" + tables(text.String()))
			}
			golden := filepath.Join("testdata", "tables", name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
				return
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String())
		})
	}
}

// tables is the part of explain's text that a variant decides, without the columns' padding and the shipped folder's name.
func tables(text string) string {
	var out []string
	for _, section := range strings.Split(text, "\n\n") {
		head, _, _ := strings.Cut(section, "\n")
		switch {
		case strings.HasPrefix(head, "entry"), strings.HasPrefix(head, "no kernel"), strings.HasPrefix(head, "by another"), strings.HasPrefix(head, "states"), strings.HasPrefix(head, "submit"), strings.HasPrefix(head, "verify"):
			out = append(out, section)
		}
	}
	lines := strings.Split(strings.Join(out, "\n\n")+"\n\n", "\n")
	for i, l := range lines {
		indent := len(l) - len(strings.TrimLeft(l, " "))
		l = spaces.ReplaceAllString(l[indent:], "  ")
		if l != "" {
			lines[i] = strings.Repeat(" ", min(indent, 4)) + strings.ReplaceAll(l, "graphs/variants/", "")
		}
	}
	return strings.Join(lines, "\n")
}
