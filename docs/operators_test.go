package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/schema/reference"
)

// TestOperators holds operators.md to the registry. `go test ./docs -update` writes it anew.
func TestOperators(t *testing.T) {
	r, err := ops.Default()
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString("# Operators, states and classes\n\n" + written("the registry") + "\n" +
		"What a graph file may call besides its own ports and blocks. Inputs in brackets are optional. How a call is written: [language.md](language.md#nodes).\n\n## Operators\n\n")
	for _, o := range r.Operators() {
		fmt.Fprintf(&b, "[%s](#%s)\n", o.Name, o.Name)
	}
	for _, o := range r.Operators() {
		operator(&b, o)
	}
	b.WriteString("\n## States\n")
	for _, s := range r.States() {
		fmt.Fprintf(&b, "\n### state: %s\n\n%s\n", s.Name, s.Doc)
		params(&b, "field", s.Fields)
	}
	b.WriteString("\n## Classes\n\nA class fills a port: it computes with the port's weights. An exact one makes the very MLX calls " +
		"that mlx-lm makes; a bounded one says how far it may be from that ([numerics.md](numerics.md)).\n")
	for _, c := range r.Classes() {
		fills := "Ports: " + code(c.Kinds)
		if c.Takes(registry.StateRead) {
			fills = "Reads states"
		}
		fmt.Fprintf(&b, "\n### class: %s\n\n%s\n\n%s. %s\n", c.Name, c.Doc, fills, limits(c))
		params(&b, "parameter", c.Params)
	}
	generated(t, "operators.md", b.String())
}

func limits(c *registry.Class) string {
	rows := "Any number of rows."
	if c.MinRows > 1 || c.MaxRows > 0 {
		rows = fmt.Sprintf("Rows: %d to %d.", max(c.MinRows, 1), c.MaxRows)
	}
	if c.OneRow {
		rows = "Rows: the one count that it is bound to."
	}
	if c.Needs != "" {
		rows += " For " + reference.Needs[c.Needs] + "."
	}
	switch {
	case c.Build == nil:
		rows += " No kernel in this build: a signature, to compose with."
	case c.Kernels != nil:
		rows += " Kernels: " + code(c.Kernels) + "."
	}
	if c.Numerics == "" {
		return rows + " Exact."
	}
	return rows + " Bounded: " + c.Numerics + "."
}

func operator(b *strings.Builder, o *registry.Operator) {
	fmt.Fprintf(b, "\n### %s\n\n", o.Name)
	var words []string
	for _, in := range o.Inputs {
		w := in.Name
		if in.Variadic {
			w += " …"
		}
		if in.Optional {
			w = "[" + w + "]"
		}
		words = append(words, w)
	}
	results := strings.Join(o.Outputs, ", ")
	if o.Outputs == nil {
		results = "…"
	}
	fmt.Fprintf(b, "`%s(%s) → %s`", o.Name, strings.Join(words, ", "), results)
	var marks []string
	switch o.State {
	case registry.RequiredState:
		marks = append(marks, "uses a state")
	case registry.OptionalState:
		marks = append(marks, "may use a state")
	}
	if o.Each {
		marks = append(marks, "one node per name")
	}
	if marks != nil {
		fmt.Fprintf(b, " · %s", strings.Join(marks, " · "))
	}
	fmt.Fprintf(b, "\n\n%s\n", o.Doc)
	if len(o.Inputs) > 0 {
		b.WriteString("\n| input | kind | |\n| --- | --- | --- |\n")
		for _, in := range o.Inputs {
			kind := map[registry.InputKind]string{registry.Value: "value", registry.Weight: "weight", registry.State: "state", registry.TypeOf: "value, for its dtype"}[in.Kind]
			if in.Optional {
				kind += ", optional"
			}
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", in.Name, kind, cell(in.Doc))
		}
	}
	params(b, "parameter", o.Params)
}

func params(b *strings.Builder, what string, list []registry.Param) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s | type | default | |\n| --- | --- | --- | --- |\n", what)
	for _, p := range list {
		value := "must be given"
		switch {
		case p.Default != nil:
			value = "`" + p.Default.Text() + "`"
			if p.Default.Text() == "" {
				value = "`''`"
			}
		case p.Optional:
			value = "optional"
		}
		doc := cell(p.Doc)
		if len(p.OneOf) > 0 {
			doc += "; one of " + code(p.OneOf)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.Type, value, doc)
	}
}

func code(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
