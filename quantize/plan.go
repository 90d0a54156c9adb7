package quantize

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/trellis"
)

// Formats that a weight can be put into; Keep leaves it as it is.
const (
	Trellis = "trellis"
	Affine  = "affine"
	Keep    = "keep"
)

// Plan says which weights become what. Of several lines that match a weight the last decides.
type Plan struct {
	Lines []Line
	file  *source.File
}

// Line is a line of a plan. Numbers that it does not say are 0, the axis -1.
type Line struct {
	Patterns []*pattern.Pattern
	Format   string
	Bits     int
	Block    int    // of trellis codes; 0: the larger of 256 and 64 that divides the coded axis
	Axis     int    // of trellis codes; -1: 1
	Layout   string // of trellis codes; "": row
	Group    int    // of affine codes; 0: 64
	Fits     bool   // weights that the format does not take are left as they are
	At       diag.Range
}

//go:embed trellis.yaml
var trellisPlan []byte

//go:embed affine.yaml
var affinePlan []byte

// Default is the plan of a format.
func Default(format string) (*Plan, error) {
	text := map[string][]byte{Trellis: trellisPlan, Affine: affinePlan}[format]
	if text == nil {
		return nil, fmt.Errorf("there is no format %s; there are trellis and affine", format)
	}
	var list diag.List
	p := ParsePlan(format+".yaml", text, &list)
	if list.HasErrors() {
		return nil, fmt.Errorf("the plan of format %s: %s", format, list.Sorted()[0].Message)
	}
	return p, nil
}

// Source is a line of the plan's text, for messages.
func (p *Plan) Source(file string, line int) (string, bool) {
	if p.file == nil || file != p.file.Path {
		return "", false
	}
	return p.file.Line(line), true
}

// ParsePlan reads a plan: `quantize:` with a list of lines. What is wrong goes to the list.
func ParsePlan(path string, data []byte, list *diag.List) *Plan {
	r := &planReader{list: list, file: source.Parse(path, data, list)}
	p := &Plan{file: r.file}
	if r.file.Root == nil || list.HasErrors() {
		return p
	}
	for key, value := range pairs(r.file.Root) {
		if key.Value != "quantize" {
			r.unknown(key, []string{"quantize"}, "a plan")
			continue
		}
		if value.Kind != yaml.SequenceNode {
			list.Errorf("parameter-type", r.file.Range(value), "quantize is a list of lines; this is %s", source.KindName(value))
			continue
		}
		for _, n := range value.Content {
			if line, ok := r.line(source.Deref(n)); ok {
				p.Lines = append(p.Lines, line)
			}
		}
	}
	if len(p.Lines) == 0 && !list.HasErrors() {
		list.Errorf("missing-key", r.file.Range(r.file.Root), "the plan has no line").
			Helped("write `quantize: [{weights: '**.mlp.down_proj', format: trellis, bits: 3, axis: 0}]`")
	}
	return p
}

type planReader struct {
	list *diag.List
	file *source.File
}

func pairs(n *yaml.Node) func(func(*yaml.Node, *yaml.Node) bool) {
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(source.Deref(n.Content[i]), source.Deref(n.Content[i+1])) {
				return
			}
		}
	}
}

var lineKeys = []string{"weights", "format", "bits", "block", "axis", "layout", "group", "where_it_fits"}

func (r *planReader) unknown(key *yaml.Node, known []string, owner string) {
	d := r.list.Errorf("unknown-key", r.file.Range(key), "%s has no key %s", owner, key.Value)
	if near := diag.Nearest(key.Value, known); near != "" {
		d.Helped("did you mean %s?", near)
		return
	}
	d.Helped("it has %s", strings.Join(known, ", "))
}

func (r *planReader) line(n *yaml.Node) (Line, bool) {
	out := Line{Axis: -1, At: r.file.Range(n)}
	if n.Kind != yaml.MappingNode {
		r.list.Errorf("parameter-type", out.At, "a line of a plan is a map; this is %s", source.KindName(n))
		return out, false
	}
	had := r.list.Len()
	for key, value := range pairs(n) {
		switch key.Value {
		case "weights":
			out.Patterns = r.patterns(value)
		case "format":
			out.Format = r.word(value, []string{Trellis, Affine, Keep})
		case "bits":
			out.Bits = r.number(value, []int{2, 3, 4, 5, 6, 8})
		case "block":
			out.Block = r.number(value, nil)
		case "axis":
			out.Axis = r.number(value, []int{0, 1})
		case "layout":
			out.Layout = r.word(value, []string{trellis.Row, trellis.Interleaved})
		case "group":
			out.Group = r.number(value, []int{32, 64, 128})
		case "where_it_fits":
			out.Fits = r.word(value, []string{"true", "false"}) == "true"
		default:
			r.unknown(key, lineKeys, "a line of a plan")
		}
	}
	if r.list.Len() > had {
		return out, false
	}
	for _, missing := range []struct {
		key  string
		lack bool
	}{{"weights", len(out.Patterns) == 0}, {"format", out.Format == ""}} {
		if missing.lack {
			r.list.Errorf("missing-key", out.At, "a line of a plan has a key %s", missing.key)
		}
	}
	for _, odd := range []struct {
		key, format string
		given       bool
	}{
		{"block", Trellis, out.Block != 0}, {"axis", Trellis, out.Axis >= 0}, {"layout", Trellis, out.Layout != ""}, {"group", Affine, out.Group != 0},
	} {
		if odd.given && out.Format != "" && out.Format != odd.format {
			r.list.Errorf("unknown-key", out.At, "%s is for format %s; this line has format %s", odd.key, odd.format, out.Format)
		}
	}
	return out, r.list.Len() == had
}

func (r *planReader) patterns(n *yaml.Node) []*pattern.Pattern {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	var out []*pattern.Pattern
	for _, item := range list {
		item = source.Deref(item)
		p, err := pattern.Compile(item.Value)
		switch {
		case item.Kind != yaml.ScalarNode:
			r.list.Errorf("parameter-type", r.file.Range(item), "weights takes a pattern over the weights' paths, or a list of them; this is %s", source.KindName(item))
		case err != nil:
			r.list.Errorf("bad-pattern", r.file.Range(item), "%v", err)
		default:
			out = append(out, p)
		}
	}
	return out
}

func (r *planReader) word(n *yaml.Node, known []string) string {
	if n.Kind == yaml.ScalarNode && slices.Contains(known, n.Value) {
		return n.Value
	}
	r.list.Errorf("bad-word", r.file.Range(n), "%s is none of %s", shown(n), strings.Join(known, ", "))
	return ""
}

func (r *planReader) number(n *yaml.Node, known []int) int {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 || err != nil || v < 0 {
		r.list.Errorf("parameter-type", r.file.Range(n), "%s is no number", shown(n))
		return 0
	}
	if known != nil && !slices.Contains(known, v) {
		r.list.Errorf("bad-word", r.file.Range(n), "%d is none of %s", v, strings.Trim(fmt.Sprint(known), "[]"))
	}
	return v
}

func shown(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return source.KindName(n)
}
