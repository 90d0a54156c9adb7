package lsp

import (
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/lsp/cursor"
	"github.com/graphrun/graphrun/schema/reference"
	"github.com/graphrun/graphrun/weights/header"
)

// compose gives what the composer finds in a file as it stands in the editor. A model is composed for its examples. A
// variant or rules are tried on theirs, else on those of a shipped model: the variant's own, for rules the first.
func (s *server) compose(ctx context.Context, path string) ([]*diag.Diagnostic, error) {
	request := compose.Request{Graph: path, Overlay: s.texts(), Shipped: s.shipped, Registry: s.registry, Memory: s.options.Memory}
	done, err := compose.Compose(ctx, request)
	if err != nil {
		return nil, err
	}
	list := done.Diagnostics.Sorted()
	file := done.Sources[path]
	if len(list) == 0 && len(done.Examples) == 0 && file != nil && (cursor.IsKind(file.Root, "variant") || cursor.IsKind(file.Root, "rules")) {
		return s.besides(ctx, request, file)
	}
	return list, nil
}

// besides composes shipped models with a variant or rules that have no examples of their own.
func (s *server) besides(ctx context.Context, request compose.Request, file *source.File) ([]*diag.Diagnostic, error) {
	path := request.Graph
	request.Graph = ""
	var own []*header.Config
	var ignored []string
	if cursor.IsKind(file.Root, "variant") {
		request.Variants = []string{path}
		own, ignored = s.examplesOf(modelsOf(cursor.Child(file.Root, "of")), 0), []string{"variant-requires", "class-device"}
	} else {
		request.Rules = []string{path}
		own, ignored = s.examplesOf(nil, 1), []string{"rule"}
	}
	var all diag.List
	for _, config := range own {
		request.Config = config
		done, err := compose.Compose(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, d := range done.Diagnostics.Sorted() {
			if !slices.Contains(ignored, d.Code) && (d.At.File == path || slices.ContainsFunc(d.Related, func(r diag.Related) bool { return r.At.File == path })) {
				all.Put(d)
			}
		}
	}
	return all.Sorted(), nil
}

// modelsOf are the models that a variant names; none for '*'.
func modelsOf(of *yaml.Node) []string {
	switch {
	case of == nil, of.Value == "*":
		return nil
	case of.Kind == yaml.ScalarNode:
		return []string{of.Value}
	}
	var out []string
	for _, c := range of.Content {
		out = append(out, c.Value)
	}
	return out
}

// examplesOf reads the examples of shipped models of these names (none: of all), at most so many (0: all).
func (s *server) examplesOf(names []string, most int) []*header.Config {
	var out []*header.Config
	for _, e := range s.library.Of(reference.Model) {
		if len(names) > 0 && !slices.Contains(names, e.Name) {
			continue
		}
		inside := strings.TrimPrefix(e.File, "graphs/")
		data, err := fs.ReadFile(s.shipped, inside)
		if err != nil {
			continue
		}
		var list diag.List
		file := source.Parse(e.File, data, &list)
		if file.Root == nil {
			continue
		}
		out = append(out, s.configs(file.Root, func(name string) (*header.Config, error) {
			config := filepath.ToSlash(filepath.Join(filepath.Dir(inside), name))
			data, err := fs.ReadFile(s.shipped, config)
			if err != nil {
				return nil, err
			}
			return header.ParseConfig("graphs/"+config, bytes.NewReader(data))
		})...)
		if most > 0 && len(out) >= most {
			return out[:most]
		}
	}
	return out
}

// configs reads a file's examples; what cannot be read is the composer's to tell.
func (s *server) configs(root *yaml.Node, read func(name string) (*header.Config, error)) []*header.Config {
	examples := cursor.Child(root, "examples")
	if examples == nil || examples.Kind != yaml.SequenceNode {
		return nil
	}
	var out []*header.Config
	for _, n := range examples.Content {
		if c := cursor.Child(n, "config"); c != nil {
			n = c
		}
		if n.Kind != yaml.ScalarNode {
			continue
		}
		if config, err := read(n.Value); err == nil {
			out = append(out, config)
		}
	}
	return out
}
