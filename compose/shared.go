package compose

import (
	"io/fs"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/weights/header"
)

// Shared is what composing one file after another has in common: the shipped documents, read and checked once, the
// expressions, compiled once, and what else several files read. The requests that it is for have one Shipped, one Overlay and
// one Registry, none runs beside another, and files do not change between them.
type Shared struct {
	ex      *expr.Engine
	finder  *finder
	docs    map[string]*syntax.Document // of the shipped files, those that nothing was found in
	headers []*syntax.Document
	names   map[string][]string // of the blocks in some folders
	tensors map[listing][]header.Tensor
}

// listing is a file of tensors that examples name.
type listing struct {
	file   string
	inside bool // the program, or the request's own texts
}

// NewShared makes one for the requests to come.
func NewShared() (*Shared, error) {
	s := &Shared{finder: &finder{}, docs: map[string]*syntax.Document{}, names: map[string][]string{}, tensors: map[listing][]header.Tensor{}}
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
