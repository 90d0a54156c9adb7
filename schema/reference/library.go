package reference

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/registry"
)

// Library is everything that has a name.
type Library struct {
	entries []Entry // by kind, then name
}

// New collects the registry's entries, the kinds of port and the shipped files. shipped may be nil; a shipped file that
// cannot be read is an error.
func New(r *registry.Registry, shipped fs.FS) (*Library, error) {
	l := &Library{}
	for _, o := range r.Operators() {
		l.entries = append(l.entries, OfOperator(o))
	}
	for _, c := range r.Classes() {
		l.entries = append(l.entries, OfClass(c))
	}
	for _, s := range r.States() {
		l.entries = append(l.entries, OfState(s))
	}
	for _, name := range port.Bound() {
		l.entries = append(l.entries, OfPort(port.Kinds[name]))
	}
	if shipped == nil {
		return l, nil
	}
	for _, folder := range []string{"blocks", "models", "variants", "rules"} {
		if err := l.folder(shipped, folder); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *Library) folder(shipped fs.FS, folder string) error {
	files, err := fs.Glob(shipped, folder+"/*.yaml")
	if err != nil {
		return err
	}
	for _, name := range files {
		data, err := fs.ReadFile(shipped, name)
		if err != nil {
			return err
		}
		e, err := Read("graphs/"+name, data)
		if err != nil {
			return err
		}
		if e.Name+".yaml" != path.Base(name) {
			return fmt.Errorf("graphs/%s holds the %s %s", name, e.Kind, e.Name)
		}
		l.entries = append(l.entries, e)
	}
	return nil
}

// Read describes a graph file.
func Read(name string, data []byte) (Entry, error) {
	var list diag.List
	file := source.Parse(name, data, &list)
	doc := syntax.Parse(file, &list)
	for _, d := range list.Sorted() {
		if d.Severity == diag.Error {
			return Entry{}, d
		}
	}
	if doc == nil {
		return Entry{}, fmt.Errorf("%s is no graph file", name)
	}
	return OfDocument(doc), nil
}

// Of lists the entries of a kind, by name.
func (l *Library) Of(kind Kind) []Entry {
	var out []Entry
	for _, e := range l.entries {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// Find gives every meaning of a name: a kind of port and a block may share one. "operator rope" asks for one kind.
func (l *Library) Find(name string) []Entry {
	kind, rest, both := strings.Cut(strings.TrimSpace(name), " ")
	var out []Entry
	for _, e := range l.entries {
		if e.Name == name || both && string(e.Kind) == kind && e.Name == strings.TrimSpace(rest) {
			out = append(out, e)
		}
	}
	return out
}

// Unknown is the error for a name that nothing has, with the nearest that something has.
func (l *Library) Unknown(name string) error {
	names := make([]string, len(l.entries))
	for i, e := range l.entries {
		names[i] = e.Name
	}
	text := fmt.Sprintf("nothing is named %q: it is no operator, class, state, kind of port, shipped block or model", name)
	if help := diag.DidYouMean(name, names); help != "" {
		text += "; " + help
	}
	return fmt.Errorf("%s", text)
}
