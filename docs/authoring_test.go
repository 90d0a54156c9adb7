package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/show"
	"github.com/graphrun/graphrun/show/dataflow"
	"github.com/graphrun/graphrun/weights/header"
)

// The worked example of authoring.md.
const (
	portGraph  = "../examples/port/larch.yaml"
	portConfig = "../examples/port/larch.json"
)

var (
	mistake = regexp.MustCompile("(?ms)^<!-- mistake( with a checkpoint)?: (.*?) => (.*?) -->\n```\n(.*?)```$")
	excerpt = regexp.MustCompile("(?ms)^```(yaml|python)\n(.*?)^```$")
)

// port composes a text of the example's file under the example's name.
func port(t *testing.T, text string, ck *header.Checkpoint) (*compose.Result, *registry.Registry) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "larch.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	config, err := os.ReadFile(portConfig)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "larch.json"), config, 0o644))
	reg, err := ops.Default()
	require.NoError(t, err)
	r := compose.Request{Graph: file, Shipped: graphs.Files, Registry: reg, Checkpoint: ck}
	r.Config, err = header.ReadConfig(filepath.Join(dir, "larch.json"))
	require.NoError(t, err)
	out, err := compose.Compose(context.Background(), r)
	require.NoError(t, err)
	return out, reg
}

func portText(t *testing.T) string {
	text, err := os.ReadFile(portGraph)
	require.NoError(t, err)
	return string(text)
}

// headers are those of a checkpoint that has what the plan wants.
func headers(r *compose.Result) *header.Checkpoint {
	c := &header.Checkpoint{Path: "checkpoint", Format: "safetensors"}
	for _, x := range r.Plan.Tensors {
		c.Tensors = append(c.Tensors, header.Tensor{Name: x.Name, Dtype: x.Dtype, Stored: strings.ToUpper(x.Dtype.String()), Shape: x.Shape, File: "model.safetensors"})
	}
	return c
}

// told is what graphrun says to a text.
func told(t *testing.T, r *compose.Result) string {
	var b bytes.Buffer
	lines := func(file string, n int) (string, bool) {
		f, ok := r.Sources[file]
		if !ok {
			return "", false
		}
		return f.Line(n), true
	}
	require.NoError(t, diag.Fprint(&b, r.Diagnostics.Sorted(), lines, diag.Style{Width: 120}))
	return regexp.MustCompile(`/\S*/larch\.`).ReplaceAllString(b.String(), "larch.")
}

// TestAuthoring holds authoring.md to the example and to what graphrun says: each piece of YAML and Python stands in the
// example, each error is that of the change shown above it. `go test ./docs -update` writes the errors anew.
func TestAuthoring(t *testing.T) {
	const page = "authoring.md"
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	text, right := string(data), portText(t)
	python, err := os.ReadFile("../examples/port/larch.py")
	require.NoError(t, err)
	for _, m := range excerpt.FindAllStringSubmatch(text, -1) {
		require.Contains(t, map[string]string{"yaml": right, "python": string(python)}[m[1]], m[2], "authoring.md shows what the example has not")
	}
	good, reg := port(t, right, nil)
	require.Empty(t, good.Diagnostics.Sorted())
	text = mistake.ReplaceAllStringFunc(text, func(found string) string {
		m := mistake.FindStringSubmatch(found)
		wrong := strings.Replace(right, m[2], m[3], 1)
		require.NotEqual(t, right, wrong, "authoring.md changes what the example has not: %s", m[2])
		var ck *header.Checkpoint
		if m[1] != "" {
			ck = headers(good)
		}
		r, _ := port(t, wrong, ck)
		require.NotEmpty(t, r.Diagnostics.Sorted(), "nothing is said to %s", m[3])
		return strings.TrimSuffix(found, m[4]+"```") + told(t, r) + "```"
	})
	report, err := explain.Make(good.Plan, reg, explain.Facts{})
	require.NoError(t, err)
	var explained bytes.Buffer
	require.NoError(t, report.WriteText(&explained))
	_, states, _ := strings.Cut(explained.String(), "\nstates\n")
	states, _, _ = strings.Cut(states, "\n\n")
	text = regexp.MustCompile("(?ms)^<!-- states -->\n```\n.*?```$").ReplaceAllLiteralString(text, "<!-- states -->\n```\nstates\n"+states+"\n```")
	text = regexp.MustCompile("(?ms)^<!-- values -->\n```\n.*?```$").ReplaceAllLiteralString(text, "<!-- values -->\n```\n"+portValues(t)+"```")
	generated(t, page, text)
}

// portValues is the line that `make oracle` prints for the example.
func portValues(t *testing.T) string {
	data, err := os.ReadFile("coverage.json")
	require.NoError(t, err)
	var c coverage
	require.NoError(t, json.Unmarshal(data, &c))
	a, b := c.Cases["larch-bf16"], c.Cases["larch-q4"]
	sum := func(x, y int) string { return strconv.Itoa(x + y) }
	all := a.Prefill + a.Decode + a.Chunk + a.Batch + b.Prefill + b.Decode + b.Chunk + b.Batch
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range [][]string{
		{"model", "cases", "prefill", "decode", "chunk", "batch", "tokens", "values equal to mlx-lm's"},
		{"larch", "2", sum(a.Prefill, b.Prefill), sum(a.Decode, b.Decode), sum(a.Chunk, b.Chunk), sum(a.Batch, b.Batch),
			sum(a.Tokens, b.Tokens), strconv.Itoa(all) + ", all"},
	} {
		_, err = w.Write([]byte(strings.Join(row, "\t") + "\n"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Flush())
	return out.String()
}

// TestAuthoringShows: every format draws the example, with both kinds of layer.
func TestAuthoringShows(t *testing.T) {
	r, reg := port(t, portText(t), nil)
	g, err := dataflow.Make(dataflow.Sources{Name: r.Model, Files: r.Sources, Registry: reg, Plan: r.Plan})
	require.NoError(t, err)
	for _, format := range show.Formats() {
		var b bytes.Buffer
		require.NoError(t, show.Write(&b, g, format))
		require.Contains(t, b.String(), "attend", format)
	}
}
