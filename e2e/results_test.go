//go:build cgo && mlx

package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

var (
	report = flag.Bool("report", false, "print the values compared for each model")
	update = flag.Bool("update", false, "write docs/coverage.json")
)

// coverageFile holds the figures of the last whole run, for docs/coverage.md.
const coverageFile = "../docs/coverage.json"

type coverage struct {
	Environment map[string]any `json:"environment"`
	Cases       results        `json:"cases"`
}

// results are the cases whose bits are equal.
type results map[string]counts

// print writes a line for each model.
func (r results) print(w io.Writer, m manifest, names []string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "model\tcases\tprefill\tdecode\tchunk\tbatch\ttokens\tvalues equal to mlx-lm's")
	line := func(model string, of []string) {
		var sum counts
		equal := 0
		for _, name := range of {
			if c, ok := r[name]; ok {
				sum.add(c)
				equal++
			}
		}
		verdict := "all"
		if equal < len(of) {
			verdict = fmt.Sprintf("%d of %d cases DIFFER", len(of)-equal, len(of))
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d, %s\n", model, len(of), sum.Prefill, sum.Decode, sum.Chunk, sum.Batch, sum.Tokens, sum.values(), verdict)
	}
	of := map[string][]string{}
	for _, name := range names {
		of[m.Cases[name].Model] = append(of[m.Cases[name].Model], name)
	}
	for _, model := range slices.Sorted(maps.Keys(of)) {
		line(model, of[model])
	}
	line("all", names)
	_ = t.Flush()
}

// keep writes the figures with -update. Without, it holds the file to those that are new.
func (r results) keep(t *testing.T, m manifest) {
	var c coverage
	data, err := os.ReadFile(coverageFile)
	if !*update {
		require.NoError(t, err)
	}
	if err == nil {
		require.NoError(t, json.Unmarshal(data, &c))
	}
	if !*update {
		for name, got := range r {
			require.Equal(t, c.Cases[name], got, "%s: docs/coverage.json has other figures; `make coverage` writes it", name)
		}
		return
	}
	if c.Cases == nil {
		c.Cases = results{}
	}
	if os.Getenv("MODELS") == "" {
		clear(c.Cases)
	}
	maps.Copy(c.Cases, r)
	c.Environment = m.Environment
	data, err = json.MarshalIndent(c, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(coverageFile, append(data, '\n'), 0o644))
}
