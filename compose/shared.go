package compose

import (
	"io/fs"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
)

// Shared is what composing one file after another has in common: the shipped documents, read and checked once, and the
// expressions, compiled once. The requests that it is for have one Shipped and one Registry, and none runs beside another.
type Shared struct {
	ex      *expr.Engine
	finder  *finder
	docs    map[string]*syntax.Document // of the shipped files, those that nothing was found in
	headers []*syntax.Document
	sound   map[*syntax.Document]bool // shipped documents whose names and types are right
}

// NewShared makes one for the requests to come.
func NewShared() (*Shared, error) {
	s := &Shared{finder: &finder{}, docs: map[string]*syntax.Document{}, sound: map[*syntax.Document]bool{}}
	var err error
	s.ex, err = expr.New(s.finder.find)
	return s, err
}

// readShipped reads a file that is inside the program.
func (l *library) readShipped(name string) *syntax.Document {
	key := "shipped " + name
	if d := l.shared.docs[name]; d != nil {
		if l.docs[key] == nil {
			l.keep(key, d)
		}
		return d
	}
	data, err := fs.ReadFile(l.shipped, name)
	if err != nil {
		return nil
	}
	found := l.list.Len()
	d := l.parse(key, shippedPrefix+name, data)
	if d != nil && l.list.Len() == found {
		l.shared.docs[name] = d
	}
	return d
}

// keep notes a document that was read before.
func (l *library) keep(key string, d *syntax.Document) {
	l.docs[key], l.inside[d.File] = d, true
	if l.sources[d.File.Path] == nil || l.parts[d.File.Path] {
		l.sources[d.File.Path] = d.File
		delete(l.parts, d.File.Path)
	}
}
