package draft

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// About names things in a file's comments.
type About struct {
	Name string // of the graph file
	File string // where it will be; "" where that is not known
	Flag string // with which commands are told of what it was made for: --checkpoint PATH
	Path string // the checkpoint or config
}

func (a About) file() string {
	if a.File == "" {
		return a.Name + ".yaml"
	}
	return a.File
}

// Variant writes a variant that binds to every port the class that it has anyway, with what else would take it. The plan is
// one without variants.
func Variant(p *plan.Plan, reg *registry.Registry, a About, fingerprint string) ([]byte, error) {
	w := &writer{}
	w.comment(fmt.Sprintf("A variant of %s, written by `graphrun init` for %s. As it stands it changes nothing: each line binds the class that its "+
		"ports have anyway. Change a class, tell row counts apart (rows: {1..8: one, else: another}), or remove lines: what no line binds stays exact. Then", p.Model, a.Path))
	w.line("#   graphrun validate %s %s", a.file(), a.Flag)
	w.line("#   graphrun explain %s --variant %s", a.Flag, a.file())
	if strings.HasPrefix(a.Flag, "--checkpoint") {
		w.line("#   graphrun compare %s %s", a.file(), a.Flag)
	}
	w.line("graphrun: v1")
	w.line("kind: variant")
	w.line("name: %s", a.Name)
	w.line("doc: What runs without a variant, line by line.")
	w.line("of: %s", p.Model)
	if fingerprint != "" {
		w.line("# requires: checkpoint.fingerprint == '%s' # this checkpoint alone", fingerprint)
	}
	w.line("bind:")
	all := map[string][]string{}
	for i := range p.Ports {
		pattern := explain.Pattern(p.Ports[i].Path)
		all[pattern] = append(all[pattern], p.Ports[i].Path)
	}
	for _, g := range groups(p, reg) {
		w.comment(g.text)
		if c := reg.Class(g.class); c == nil || !c.Takes(g.kind) {
			w.comment(fmt.Sprintf("%s runs %s, which a line cannot name for ports of kind %s", glob(g.paths, all[explain.Pattern(g.paths[0])]), g.class, g.kind))
			continue
		}
		kind := ""
		if g.kind == "group" { // a line that does not say so speaks of ports alone
			kind = ", kind: group"
		}
		w.line("- {ports: %s%s, class: %s}", glob(g.paths, all[explain.Pattern(g.paths[0])]), kind, g.class)
	}
	return w.formatted(a.file())
}

// group is ports that one line binds.
type group struct {
	key, text, kind, class string
	paths                  []string
}

func groups(p *plan.Plan, reg *registry.Registry) []group {
	var out []group
	for i := range p.Ports {
		port := &p.Ports[i]
		row := port.At(1)
		if row == nil {
			continue
		}
		class := p.Instances[row.Instance].Class
		facts := map[string]plan.Facts{}
		var stored []string
		for k, n := range port.Weights {
			f := p.Weights[n].Facts
			facts[port.Roles[k]] = f
			if s := explain.StorageText(f); !slices.Contains(stored, s) {
				stored = append(stored, s)
			}
		}
		dims := make([]string, len(port.Dims))
		for k, d := range port.Dims {
			dims[k] = strconv.Itoa(d)
		}
		text := fmt.Sprintf("%s [%s], %s", port.Kind, strings.Join(dims, ", "), strings.Join(stored, " + "))
		if others := alternatives(reg, port.Kind, class, facts); others != "" {
			text += "; also " + others
		}
		key := explain.Pattern(port.Path) + "\x00" + class + "\x00" + text
		n := slices.IndexFunc(out, func(g group) bool { return g.key == key })
		if n < 0 {
			n = len(out)
			out = append(out, group{key: key, text: text, kind: port.Kind, class: class})
		}
		out[n].paths = append(out[n].paths, port.Path)
	}
	for i := range out {
		if n := len(out[i].paths); n > 1 {
			out[i].text = fmt.Sprintf("%d × %s", n, out[i].text)
		}
	}
	return out
}

// alternatives are the other classes that take a port's weights, with the rows they are limited to.
func alternatives(reg *registry.Registry, kind, class string, facts map[string]plan.Facts) string {
	var out []string
	for _, c := range reg.Classes() {
		if c.Name == class || !c.Takes(kind) || c.Accept(kind, facts) != nil {
			continue
		}
		text := c.Name
		var notes []string
		if c.Numerics != "" {
			notes = append(notes, "bounded")
		}
		if c.MaxRows > 0 {
			notes = append(notes, fmt.Sprintf("rows %d..%d", max(c.MinRows, 1), c.MaxRows))
		}
		if notes != nil {
			text += " (" + strings.Join(notes, ", ") + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// glob is a pattern for these paths among all that differ from them in numbers alone.
func glob(paths, all []string) string {
	if len(paths) == 1 {
		return quoted(paths[0])
	}
	pattern := explain.Pattern(paths[0])
	if len(paths) == len(all) {
		return quoted(pattern)
	}
	parts := strings.Split(pattern, ".")
	for i, s := range parts {
		if s != "*" {
			continue
		}
		var numbers []string
		for _, p := range paths {
			if n := strings.Split(p, ".")[i]; !slices.Contains(numbers, n) {
				numbers = append(numbers, n)
			}
		}
		if len(numbers) == 1 {
			parts[i] = numbers[0]
			continue
		}
		parts[i] = "{" + strings.Join(numbers, ",") + "}"
		break
	}
	return quoted(strings.Join(parts, "."))
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
