package header

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/pattern"
)

// settings carries out a mapping's `config` on one file.
type settings struct {
	meta   *GGUFMeta
	infos  map[string]*info
	names  *pattern.Index
	values map[string]any
}

func (m *mapping) config(meta *GGUFMeta, infos map[string]*info) (*Config, []string, error) {
	s := &settings{meta, infos, pattern.NewIndex(slices.Collect(maps.Keys(infos))), map[string]any{}}
	for _, line := range m.Config {
		if err := s.apply(line); err != nil {
			return nil, nil, err
		}
	}
	warnings, err := m.unread(meta)
	return &Config{Path: meta.Path, Values: s.values}, warnings, err
}

func (s *settings) apply(line setting) error {
	if line.When != "" && s.get(line.When) == nil || line.Given != "" && !s.meta.Has(line.Given) {
		return nil
	}
	switch {
	case line.Expect != "":
		return s.expect(line)
	case line.To != nil:
		s.set(line.Set, fromYAML(line.To))
	case line.Collect != nil:
		return s.collect(line)
	case line.Rows != "":
		one, ok := s.infos[line.Rows]
		if !ok || len(one.Shape) == 0 {
			return fmt.Errorf("no tensor %s with rows, which %s follows from", line.Rows, line.Set)
		}
		s.set(line.Set, int64(one.Shape[0]))
	case line.Quotient != nil:
		if s.get(line.Set) != nil {
			return nil
		}
		a, _ := s.get(line.Quotient[0]).(int64)
		b, _ := s.get(line.Quotient[1]).(int64)
		if b <= 0 || a <= 0 || a%b != 0 {
			return fmt.Errorf("%s %d is no multiple of %s %d", line.Quotient[0], a, line.Quotient[1], b)
		}
		s.set(line.Set, a/b)
	case line.Present != "" || line.Missing != "":
		p, err := pattern.Compile(line.Present + line.Missing)
		if err != nil {
			return err
		}
		s.set(line.Set, s.names.Any(p) == (line.Present != ""))
	default:
		return s.from(line)
	}
	return nil
}

func (s *settings) from(line setting) error {
	for _, key := range line.From {
		if !s.meta.Has(key) {
			continue
		}
		v, err := s.scalar(key)
		if err != nil {
			return err
		}
		if !slices.Contains(line.Unless, v) {
			s.set(line.Set, v)
		}
		return nil
	}
	switch {
	case line.Default != nil:
		s.set(line.Set, fromYAML(line.Default))
	case !line.Optional:
		return fmt.Errorf("no metadata %s, which %s follows from", strings.Join(line.From, " or "), line.Set)
	}
	return nil
}

// scalar reads a value; an array of numbers counts where they are all one.
func (s *settings) scalar(key string) (any, error) {
	v := s.meta.values[key]
	if v.kind != ggufArray {
		return s.meta.Value(key)
	}
	list, err := s.meta.Ints(key)
	if err != nil {
		return nil, err
	}
	if slices.Sort(list); len(list) == 0 || list[0] != list[len(list)-1] {
		return nil, fmt.Errorf("metadata %s varies from layer to layer, which this architecture's settings cannot say", key)
	}
	return list[0], nil
}

func (s *settings) collect(line setting) error {
	var list []any
	for _, key := range line.Collect {
		if !s.meta.Has(key) {
			continue
		}
		v, err := s.meta.Value(key)
		if err != nil {
			return err
		}
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	switch len(list) {
	case 0:
	case 1:
		s.set(line.Set, list[0])
	default:
		s.set(line.Set, list)
	}
	return nil
}

func (s *settings) expect(line setting) error {
	if !s.meta.Has(line.Expect) {
		return nil
	}
	got, err := s.scalar(line.Expect)
	if err != nil {
		return err
	}
	want := fromYAML(line.Value)
	if line.Equal != "" {
		want = s.get(line.Equal)
	}
	if got != want {
		return fmt.Errorf("metadata %s is %v; files where it is not %v are not read", line.Expect, got, want)
	}
	return nil
}

// get and set follow a path of keys, `rope_scaling.factor`.
func (s *settings) get(path string) any {
	var v any = s.values
	for _, key := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

func (s *settings) set(path string, v any) {
	at := s.values
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		inner, ok := at[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			at[key] = inner
		}
		at = inner
	}
	at[keys[len(keys)-1]] = v
}

// fromYAML gives a mapping's constant the type that a config has it in.
func fromYAML(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

// unread finds the architecture's metadata that no line of the mapping asks for.
func (m *mapping) unread(meta *GGUFMeta) (warnings []string, err error) {
	asked := m.keys()
	ignore, err := compileAll(m.Ignore)
	if err != nil {
		return nil, err
	}
	refuse, err := compileAll(m.Refuse)
	if err != nil {
		return nil, err
	}
	architecture, err := meta.Text(architectureKey)
	if err != nil {
		return nil, err
	}
	for _, key := range meta.keys {
		matches := func(p *pattern.Pattern) bool { return p.Matches(key) }
		if asked[key] || !strings.HasPrefix(key, architecture+".") || slices.ContainsFunc(ignore, matches) {
			continue
		}
		if slices.ContainsFunc(refuse, matches) {
			return nil, fmt.Errorf("metadata %s changes what the model computes, and files of architecture %s are not read with it", clip(key), architecture)
		}
		warnings = append(warnings, fmt.Sprintf("%s: metadata %s has no counterpart among the settings and is not used", meta.Path, clip(key)))
	}
	return warnings, nil
}
