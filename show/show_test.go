package show_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/show"
	"github.com/graphrun/graphrun/show/dataflow"
	"github.com/graphrun/graphrun/weights/header"
)

var update = flag.Bool("update", false, "write the golden files anew")

// graph is testdata/tiny.yaml, with a plan or without.
func graph(t *testing.T, planned bool) *dataflow.Graph {
	t.Helper()
	reg, err := ops.Default()
	require.NoError(t, err)
	req := compose.Request{Graph: "testdata/tiny.yaml", Shipped: graphs.Files, Registry: reg, Exact: true}
	if planned {
		req.Config, err = header.ReadConfig("testdata/config.json")
		require.NoError(t, err)
		req.Variants = []string{"testdata/variant.yaml"}
	}
	r, err := compose.Compose(context.Background(), req)
	require.NoError(t, err)
	for _, d := range r.Diagnostics.Sorted() {
		t.Log(d.Error())
	}
	require.False(t, r.Diagnostics.HasErrors())
	g, err := dataflow.Make(dataflow.Sources{Name: r.Model, Files: r.Sources, Registry: reg, Plan: r.Plan})
	require.NoError(t, err)
	return g
}

func TestGoldens(t *testing.T) {
	for _, c := range []struct {
		name, format string
		planned      bool
	}{
		{"planned.mmd", "mermaid", true}, {"bare.mmd", "mermaid", false}, {"planned.dot", "dot", true}, {"bare.dot", "dot", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, show.Write(&b, graph(t, c.planned), c.format))
			file := filepath.Join("testdata", c.name)
			if *update {
				require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String())
		})
	}
}

func TestUnknownFormat(t *testing.T) {
	require.ErrorContains(t, show.Write(io.Discard, graph(t, false), "png"), "mermaid, dot, svg, html")
}

// TestSVG: the picture is well-formed and names every leaf.
func TestSVG(t *testing.T) {
	var b bytes.Buffer
	g := graph(t, true)
	require.NoError(t, show.Write(&b, g, "svg"))
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	var text []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if c, ok := token.(xml.CharData); ok {
			text = append(text, string(c))
		}
	}
	g.Root.Walk(func(n *dataflow.Node, _ int) {
		if n.Kind != dataflow.Block {
			require.Contains(t, text, n.Name)
		}
	})
}

// TestHostileText: what a file says is text in every format, never markup.
func TestHostileText(t *testing.T) {
	evil := `</script><img src=x onerror=alert(1)> "quoted" {{js}} #; | \` + "`\n]"
	g := &dataflow.Graph{Name: evil, Doc: evil, About: []dataflow.Fact{{Name: evil, Text: evil}}, Root: &dataflow.Node{
		ID: "n1", Kind: dataflow.Block, Name: evil, Children: []*dataflow.Node{
			{ID: "n2", Kind: dataflow.Operator, Name: evil, At: evil, Facts: []dataflow.Fact{{Name: evil, Text: evil}}},
			{ID: "n3", Kind: dataflow.Port, Name: "p", Types: []string{evil}},
		}, Edges: []dataflow.Edge{{From: dataflow.Ref{Node: "n2"}, To: dataflow.Ref{Node: "n3"}, Name: evil}}}}
	for _, format := range show.Formats() {
		var b bytes.Buffer
		require.NoError(t, show.Write(&b, g, format))
		if format != "dot" { // whose quoted labels are plain text
			require.NotContains(t, b.String(), "<img", format)
		}
		if format == "html" {
			require.Equal(t, 2, strings.Count(b.String(), "</script>"))
			require.Contains(t, b.String(), `{{js}} #; |`, "a placeholder in a name is a text like others")
		}
	}
}

// TestOffline: the page loads nothing.
func TestOffline(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, show.Write(&b, graph(t, true), "html"))
	page := strings.ReplaceAll(b.String(), "http://www.w3.org/2000/svg", "")
	for _, word := range []string{"http://", "https://", "src=", "@import", "url(//", "fetch(", "<link"} {
		require.NotContains(t, page, word)
	}
}
