package schema

import (
	"fmt"
	"io/fs"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/schema/reference"
)

// Kinds are the kinds of graph file.
var Kinds = []string{"model", "block", "variant", "rules"}

// Version is the version of the language, as files say it.
const Version = "v1"

// builder collects the definitions that a document refers to.
type builder struct {
	lib  *reference.Library
	defs Properties
}

func (b *builder) define(name string, s *Schema) { b.defs = append(b.defs, key(name, s)) }

// New makes the schema of all kinds of file, each chosen by its `kind`. shipped holds blocks/, whose parameters are
// checked where they are called; it may be nil.
func New(r *registry.Registry, shipped fs.FS) (*Schema, error) {
	lib, err := reference.New(r, shipped)
	if err != nil {
		return nil, err
	}
	return Of(lib)
}

// Of makes the schema of what a library describes.
func Of(lib *reference.Library) (*Schema, error) {
	b := &builder{lib: lib}
	if err := b.checkNames(); err != nil {
		return nil, err
	}
	b.define("model", b.model())
	b.define("block", b.block())
	b.define("variant", b.variant())
	b.define("rules", b.rules())
	b.common()
	b.signatures()
	root := &Schema{
		Dialect:     Dialect,
		Title:       "graphrun graph file",
		Description: "A model, a block, a variant or rules of graphrun, language version " + Version + ".",
		Type:        Types{"object"},
		Properties:  header(Kinds...),
		Required:    []string{"graphrun", "kind", "name"},
		Defs:        b.defs,
	}
	for _, kind := range Kinds {
		is := &Schema{Properties: Properties{key("kind", &Schema{Const: kind})}, Required: []string{"kind"}}
		root.AllOf = append(root.AllOf, &Schema{If: is, Then: ref(kind)})
	}
	return root, nil
}

// Only gives the schema of one kind of file, with the definitions that it refers to.
func (s *Schema) Only(kind string) (*Schema, error) {
	if s.Defs.Get(kind) == nil || !contains(Kinds, kind) {
		err := fmt.Errorf("no kind of file is named %q; kinds: model, block, variant, rules", kind)
		if help := diag.DidYouMean(kind, Kinds); help != "" {
			err = fmt.Errorf("%w (%s)", err, help)
		}
		return nil, err
	}
	out := *s
	out.Title = "graphrun " + kind
	out.Description = s.Defs.Get(kind).Description
	out.Properties = header(kind)
	out.AllOf = []*Schema{ref(kind)}
	used := map[string]bool{}
	out.reach(used, s.Defs)
	out.Defs = nil
	for _, d := range s.Defs {
		if used[d.Name] {
			out.Defs = append(out.Defs, d)
		}
	}
	return &out, nil
}

// reach marks the definitions that s refers to.
func (s *Schema) reach(used map[string]bool, defs Properties) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		name := s.Ref[len("#/$defs/"):]
		if !used[name] {
			used[name] = true
			defs.Get(name).reach(used, defs)
		}
	}
	for _, x := range s.parts() {
		x.reach(used, defs)
	}
}

// parts are the schemas inside a schema, without its definitions.
func (s *Schema) parts() []*Schema {
	var out []*Schema
	for _, p := range s.Properties {
		out = append(out, p.Schema)
	}
	if more, ok := s.AdditionalProperties.(*Schema); ok {
		out = append(out, more)
	}
	for _, x := range []*Schema{s.PropertyNames, s.Items, s.Not, s.If, s.Then, s.Else} {
		if x != nil {
			out = append(out, x)
		}
	}
	for _, group := range [][]*Schema{s.PrefixItems, s.AllOf, s.AnyOf, s.OneOf} {
		out = append(out, group...)
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// header is what every file begins with.
func header(kinds ...string) Properties {
	return Properties{
		key("graphrun", &Schema{Description: "The version of the language.", Const: Version}),
		key("kind", oneOf("What the file is: a model (a whole network), a block (a part that is called like an operator), a variant "+
			"(which class computes with each weight) or rules (what a plan must hold).", kinds...)),
		key("name", text("The name, which is the file's without .yaml.")),
	}
}

// documented is header with what every kind of file may say besides.
func documented(kind string) Properties {
	return append(header(kind),
		key("doc", text("What it is, in a sentence or two: shown by `graphrun doc` and in editors.")),
		key("imports", textOrList("Folders, from this file, in which blocks and models are looked for besides the file's own folder and the shipped ones.")),
	)
}
