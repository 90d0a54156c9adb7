package dataflow_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/show/dataflow"
)

// bare makes a graph of files alone, by name, without a plan.
func bare(t *testing.T, name string, files map[string]string) *dataflow.Graph {
	t.Helper()
	reg, err := ops.Default()
	require.NoError(t, err)
	sources := map[string]*source.File{}
	for file, text := range files {
		sources[file] = source.Parse(file, []byte(text), &diag.List{})
	}
	g, err := dataflow.Make(dataflow.Sources{Name: name, Files: sources, Registry: reg})
	require.NoError(t, err)
	return g
}

// flat writes the edges between leaves as "a -> b", sorted; ~> may be, -- to a state.
func flat(g *dataflow.Graph) []string {
	var out []string
	for _, e := range g.Flatten() {
		arrow := "->"
		switch {
		case e.State:
			arrow = "--"
		case e.Maybe:
			arrow = "~>"
		}
		out = append(out, fmt.Sprint(e.From.Name, " ", arrow, " ", e.To.Name))
	}
	slices.Sort(out)
	return out
}

func model(nodes string) map[string]string {
	return map[string]string{"m.yaml": "graphrun: v1\nkind: model\nname: m\nlet: {n: 3, c: true}\nports: {embed: {embedding: [8, 4]}, head: {head: [4, 8]}}\nnodes:\n- h: {embed: tokens}\n" + nodes + "- logits: {head: h}\n"}
}

func TestEdges(t *testing.T) {
	cases := []struct {
		name, nodes string
		want        []string
	}{
		{"alias", "- g: h\n- h: {silu: g}\n", []string{"embed -> silu", "head -> logits", "silu -> head", "tokens -> embed"}},
		{"conditional", "- h: {silu: h, when: c}\n", []string{"embed -> silu", "embed ~> head", "head -> logits", "silu ~> head", "tokens -> embed"}},
		{"by turns", "- h: {silu: h, when: c}\n- h: {tanh: h, unless: c}\n",
			[]string{"embed -> silu", "embed ~> tanh", "head -> logits", "silu ~> head", "silu ~> tanh", "tanh ~> head", "tokens -> embed"}},
		{"each", "- a: {silu: h}\n- b: {tanh: h}\n- a, b: {rope: [a, b], dims: 4, base: 10.0}\n- h: {add: [a, b]}\n",
			[]string{"add -> head", "embed -> silu", "embed -> tanh", "head -> logits", "rope -> add", "rope -> add", "silu -> rope", "tanh -> rope", "tokens -> embed"}},
		{"through a body", "- h: {repeat: {i: n}, nodes: [r: {silu: h}, g: r, h: {add: [h, g]}]}\n",
			[]string{"add -> head", "embed -> add", "embed -> silu", "head -> logits", "silu -> add", "tokens -> embed"}},
		{"body in a body", "- h: {nodes: [h: {nodes: [h: {silu: h}]}]}\n", []string{"embed -> silu", "head -> logits", "silu -> head", "tokens -> embed"}},
		{"number", "- h: {multiply: [h, 2.0]}\n", []string{"embed -> multiply", "head -> logits", "multiply -> head", "tokens -> embed"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, flat(bare(t, "m", model(c.nodes)))) })
	}
}

// TestBlock: inputs by place and by name, results by place, a state of the block's and one that the caller names.
func TestBlock(t *testing.T) {
	files := model("- h, g: {two: h, y: h}\n- h: {two: [h, g], state: {kv: 'elsewhere.kv'}}\n")
	files["two.yaml"] = "graphrun: v1\nkind: block\nname: two\nin: {x: [B, T, 4], y: [B, T, 4]}\nstate: {kv: {cache: {heads: 1, dim: 4}}}\nnodes:\n" +
		"- a: {silu: x}\n- b: {attend: {q: y, k: y, v: y}, state: kv, scale: 1.0}\nout: {b: [B, T, 4], a: [B, T, 4]}\n"
	g := bare(t, "m", files)
	require.Equal(t, []string{"attend -> head", "attend -> silu", "embed -> attend", "embed -> attend",
		"embed -> attend", "embed -> silu", "head -> logits", "kv -- attend", "kv -- attend", "silu -> attend", "silu -> attend", "silu -> attend", "tokens -> embed"}, flat(g))
	var states []string
	g.Root.Walk(func(n *dataflow.Node, _ int) {
		if n.Kind == dataflow.State {
			states = append(states, n.Of)
		}
	})
	require.Equal(t, []string{"cache", "shared"}, states)
}

func TestUnknownModel(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	_, err = dataflow.Make(dataflow.Sources{Name: "nothing", Registry: reg})
	require.ErrorContains(t, err, "nothing")
}

// TestRecursion: a block that calls itself, which the composer refuses, is an error and no endless picture.
func TestRecursion(t *testing.T) {
	files := model("- h: {again: h}\n")
	files["again.yaml"] = "graphrun: v1\nkind: block\nname: again\nin: {x: [B, T, 4]}\nnodes:\n- x: {again: x}\nout: {x: [B, T, 4]}\n"
	reg, err := ops.Default()
	require.NoError(t, err)
	sources := map[string]*source.File{}
	for file, text := range files {
		sources[file] = source.Parse(file, []byte(text), &diag.List{})
	}
	_, err = dataflow.Make(dataflow.Sources{Name: "m", Files: sources, Registry: reg})
	require.ErrorContains(t, err, "deep")
}

// TestShipped: every shipped model has a picture in which all ends of edges are there and ids are unique.
func TestShipped(t *testing.T) {
	files := map[string]string{}
	var models []string
	for _, dir := range []string{"models", "blocks"} {
		entries, err := fs.ReadDir(graphs.Files, dir)
		require.NoError(t, err)
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			data, err := fs.ReadFile(graphs.Files, dir+"/"+e.Name())
			require.NoError(t, err)
			files["graphs/"+dir+"/"+e.Name()] = string(data)
			if dir == "models" {
				models = append(models, strings.TrimSuffix(e.Name(), ".yaml"))
			}
		}
	}
	for _, name := range models {
		t.Run(name, func(t *testing.T) {
			g := bare(t, name, files)
			ids := map[string]bool{}
			g.Root.Walk(func(n *dataflow.Node, _ int) {
				require.False(t, ids[n.ID], n.ID)
				ids[n.ID] = true
				for _, e := range n.Edges {
					for _, ref := range []dataflow.Ref{e.From, e.To} {
						child := n.Child(ref.Node)
						require.NotNil(t, child, "%s in %s", ref.Node, n.ID)
						if child.Kind == dataflow.Block {
							require.NotNil(t, child.Child(ref.Pin), "pin %s of %s", ref.Pin, child.ID)
						}
					}
				}
			})
			require.NotEmpty(t, g.Flatten())
		})
	}
}
