package header

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/pattern"
)

// mappings are what GGUF files of each architecture call things; their comments say what the keys mean.
//
//go:embed gguf/*.yaml
var mappings embed.FS

// mapping turns one architecture's metadata into settings, and its tensors' names into those of the Hugging Face layout.
type mapping struct {
	Extends string
	Config  []setting
	Ignore  []string
	Refuse  []string
	Tensors []struct{ From, To string }
	Drop    []string
	Factors *struct {
		Tensor   string
		RopeType string `yaml:"rope_type"`
	} `yaml:"frequency_factors"`
}

// setting is one line of `config`.
type setting struct {
	Set      string
	From     oneOrMore
	To       any
	Collect  []string
	Rows     string
	Quotient []string
	Present  string
	Missing  string

	Optional bool
	Unless   []any
	Default  any
	When     string
	Given    string

	Expect string
	Equal  string
	Value  any
}

type oneOrMore []string

func (l *oneOrMore) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = oneOrMore{n.Value}
		return nil
	}
	return n.Decode((*[]string)(l))
}

// architectures lists what mappings there are, sorted.
func architectures() ([]string, error) {
	files, err := fs.ReadDir(mappings, "gguf")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".yaml"); ok && !strings.HasPrefix(name, "_") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// findMapping reads the mapping of an architecture, with what it extends before it.
func findMapping(architecture string) (*mapping, error) {
	known, err := architectures()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(known, architecture) {
		near := ""
		if n := diag.Nearest(architecture, known); n != "" {
			near = fmt.Sprintf(" (nearest: %s)", n)
		}
		return nil, fmt.Errorf("GGUF files of architecture %s are not known; known are %s%s", clip(architecture), strings.Join(known, ", "), near)
	}
	return loadMapping(architecture, architecture)
}

func loadMapping(name, architecture string) (*mapping, error) {
	text, err := mappings.ReadFile("gguf/" + name + ".yaml")
	if err != nil {
		return nil, err
	}
	text = bytes.ReplaceAll(text, []byte("{arch}"), []byte(architecture))
	m := new(mapping)
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("mapping gguf/%s.yaml: %w", name, err)
	}
	if m.Extends == "" {
		return m, nil
	}
	base, err := loadMapping(m.Extends, architecture)
	if err != nil {
		return nil, err
	}
	base.Config = append(base.Config, m.Config...)
	base.Ignore = append(base.Ignore, m.Ignore...)
	base.Refuse = append(base.Refuse, m.Refuse...)
	base.Tensors = append(m.Tensors, base.Tensors...) // the first that matches wins
	base.Drop = append(base.Drop, m.Drop...)
	if m.Factors != nil {
		base.Factors = m.Factors
	}
	return base, nil
}

// keys lists the metadata keys that the lines of config ask for, whether or not they had to.
func (m *mapping) keys() map[string]bool {
	out := map[string]bool{}
	for _, s := range m.Config {
		for _, k := range append(append([]string{s.Expect, s.Given}, s.From...), s.Collect...) {
			out[k] = true
		}
	}
	return out
}

// renamer is the compiled form of `tensors` and `drop`.
type renamer struct {
	from []*pattern.Pattern
	to   []string
	drop []*pattern.Pattern
}

func (m *mapping) renamer() (*renamer, error) {
	r := new(renamer)
	for _, t := range m.Tensors {
		p, err := pattern.Compile(t.From)
		if err == nil {
			err = p.CheckTarget(t.To)
		}
		if err != nil {
			return nil, err
		}
		r.from, r.to = append(r.from, p), append(r.to, t.To)
	}
	var err error
	r.drop, err = compileAll(m.Drop)
	return r, err
}

func compileAll(patterns []string) ([]*pattern.Pattern, error) {
	var out []*pattern.Pattern
	for _, s := range patterns {
		p, err := pattern.Compile(s)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// name gives a tensor's name in the checkpoint; "" where the tensor is no weight.
func (r *renamer) name(name string) (string, error) {
	for i, p := range r.from {
		if c, ok := p.Match(name); ok {
			return pattern.Fill(r.to[i], c)
		}
	}
	if slices.ContainsFunc(r.drop, func(p *pattern.Pattern) bool { return p.Matches(name) }) {
		return "", nil
	}
	return "", fmt.Errorf("nothing says what tensor %s is", clip(name))
}
