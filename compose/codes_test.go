package compose_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights/header"
)

// elsewhere are the codes that no faulty file of testdata gives, with the test that holds them.
var elsewhere = map[string]string{
	"cannot-open":    "given by package model when weights are opened: TestPlaced",
	"cannot-run":     "given by package model in a forward: TestPlaced",
	"yaml-too-large": "a file of a megabyte: TestHostileFiles",
}

// TestEveryCodeHasACase: each code of diag/codes.md is given by a faulty file, but for those that are listed elsewhere.
func TestEveryCodeHasACase(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	given := map[string]bool{}
	code := regexp.MustCompile(`(?m)^[^ ]+: (?:error|warning|note)\[([a-z0-9-]+)\]: `)
	for _, name := range cases {
		a, err := txtar.ParseFile(name)
		require.NoError(t, err)
		for _, f := range a.Files {
			if f.Name != "want" {
				continue
			}
			for _, m := range code.FindAllSubmatch(f.Data, -1) {
				given[string(m[1])] = true
			}
		}
	}
	for _, e := range diag.Explanations() {
		require.NotEqual(t, given[e.Code], elsewhere[e.Code] != "", "the code %s: a case in testdata, or a line in elsewhere", e.Code)
	}
}

// unhelped are findings that need no advice: an author of rules writes it, or nothing is to be done.
var unhelped = map[string]string{"rule": "its doc is its help", "entry-off": "nothing is wrong"}

// TestMostFindingsAdvise: nearly every finding of the faulty files says what to write instead.
func TestMostFindingsAdvise(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	finding := regexp.MustCompile(`(?m)^[^ ]+: (?:error|warning|note)\[([a-z0-9-]+)\]: .*\n((?:  .*\n)*)`)
	help := regexp.MustCompile(`(?m)^  help: `)
	all, without := 0, []string{}
	for _, name := range cases {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range finding.FindAllSubmatch(data, -1) {
			if all++; !help.Match(m[2]) && unhelped[string(m[1])] == "" {
				without = append(without, filepath.Base(name))
			}
		}
	}
	require.Greater(t, all, 250)
	require.Less(t, len(without)*20, all, "findings without advice: %v", without)
}

// TestSourcesAreWhole: of a shipped model that was chosen by its condition the lines of the rest are shown too.
func TestSourcesAreWhole(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg,
		Config: &header.Config{Path: "config.json", Values: map[string]any{"model_type": "llama", "hidden_size": math.Inf(1)}}})
	require.NoError(t, err)
	require.NotZero(t, r.Diagnostics.Len())
	for _, d := range r.Diagnostics.Sorted() {
		require.NotContains(t, d.Message, "reported elsewhere")
		require.Equal(t, "graphs/models/llama.yaml", d.At.File)
		require.NotEmpty(t, r.Sources[d.At.File].Line(d.At.Line), d.Message)
	}
}
