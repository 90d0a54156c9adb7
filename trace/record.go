package trace

import (
	"context"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/plan"
)

// Record is what a forward computed, in the order in which it did.
type Record struct {
	Name   string // of the graph, for people
	Tokens [][]int32
	Nodes  []Node
}

// Node is one value.
type Node struct {
	// Name tells it from the others: the path and operator of its call, or the port's path, and from the second of the same
	// name on a number: "model.layers.0.self_attn rope #2".
	Name  string
	Path  string // of its call
	By    string // the operator or class
	Kind  string // of the port; "" of an operator
	Line  string // of the graph file; "" where that is not known
	Value engine.Tensor
}

// OutputPrefix begins the names of a forward's outputs, which are nodes after all others.
const OutputPrefix = "output "

// Run records one forward of tokens over the outputs that are asked.
func Run(ctx context.Context, e *engine.Engine, name string, tokens [][]int32, outputs ...string) (*Record, error) {
	s, err := e.NewSession()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p := e.Plan()
	r := &Record{Name: name, Tokens: tokens}
	seen := map[string]int{}
	out, err := s.Trace(ctx, engine.Inputs{Tokens: tokens}, func(n engine.Node) error {
		by, kind, label := describe(p, n.Call)
		if seen[label]++; seen[label] > 1 {
			label = fmt.Sprintf("%s #%d", label, seen[label])
		}
		line := ""
		if !n.Call.At.IsZero() {
			line = n.Call.At.String()
		}
		r.Nodes = append(r.Nodes, Node{label, n.Call.Path, by, kind, line, n.Value})
		return nil
	}, outputs...)
	if err != nil {
		return nil, err
	}
	for _, o := range outputs {
		r.Nodes = append(r.Nodes, Node{Name: OutputPrefix + o, Value: out[o]})
	}
	return r, nil
}

func describe(p *plan.Plan, c *plan.Call) (by, kind, label string) {
	if c.Port >= 0 && c.Port < len(p.Ports) {
		port := &p.Ports[c.Port]
		return classOf(p, c.Instance), port.Kind, port.Path
	}
	if c.Path == "" {
		return c.Operator, "", c.Operator
	}
	return c.Operator, "", c.Path + " " + c.Operator
}

// classOf is an instance's class, of a form with those of its parts.
func classOf(p *plan.Plan, instance int) string {
	in := &p.Instances[instance]
	if len(in.Parts) == 0 {
		return in.Class
	}
	parts := make([]string, len(in.Parts))
	for i, part := range in.Parts {
		parts[i] = part.Role + ": " + classOf(p, part.Instance)
	}
	return in.Class + " {" + strings.Join(parts, ", ") + "}"
}
