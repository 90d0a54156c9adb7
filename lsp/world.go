package lsp

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/lsp/cursor"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/schema"
	"github.com/graphrun/graphrun/schema/reference"
)

// world is what a file may refer to, and the files that are open.
type world struct {
	registry *registry.Registry
	shipped  fs.FS
	library  *reference.Library
	schema   *schema.Schema
	cache    string // folder for copies of shipped files

	mu   sync.Mutex
	open map[string]*document // by path
}

// document is an open file.
type document struct {
	path, uri string
	version   int32
	text      string
	parsed    *source.File // of this text, nil until it is asked for
	good      *source.File // the latest that had nodes
}

func newWorld(r *registry.Registry, shipped fs.FS, cache string) (*world, error) {
	lib, err := reference.New(r, shipped)
	if err != nil {
		return nil, err
	}
	s, err := schema.Of(lib)
	if err != nil {
		return nil, err
	}
	return &world{registry: r, shipped: shipped, library: lib, schema: s, cache: cache, open: map[string]*document{}}, nil
}

func (w *world) document(path string) *document {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[path]
}

// set keeps what an editor has.
func (w *world) set(path, uri, text string, version int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := &document{path: path, uri: uri, text: text, version: version}
	if old := w.open[path]; old != nil {
		d.good = old.good
	}
	w.open[path] = d
}

func (w *world) forget(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, path)
}

// texts are the open files' texts by path.
func (w *world) texts() map[string][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string][]byte{}
	for path, d := range w.open {
		out[path] = []byte(d.text)
	}
	return out
}

// file is an open file's nodes: of its text, or where that is no YAML at the moment nil.
func (w *world) file(d *document) *source.File {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.parsed == nil {
		var list diag.List
		d.parsed = source.Parse(d.path, []byte(d.text), &list)
		if d.parsed.Root != nil {
			d.good = d.parsed
		}
	}
	return d.parsed
}

// read gives a file as an editor has it, else from the disk.
func (w *world) read(path string) ([]byte, error) {
	if d := w.document(path); d != nil {
		return []byte(d.text), nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || info.Size() > source.MaxBytes {
		return nil, fmt.Errorf("%s is no graph file", path)
	}
	return os.ReadFile(path)
}

// found is a graph file that a name leads to.
type found struct {
	path  string
	entry reference.Entry
}

// around are the folders in which a file's names are looked for before the shipped ones.
func around(file *source.File) []string {
	dir := filepath.Dir(file.Path)
	out := []string{dir}
	if file.Root == nil {
		return out
	}
	imports := cursor.Child(file.Root, "imports")
	switch {
	case imports == nil:
	case imports.Kind == yaml.ScalarNode:
		out = append(out, filepath.Join(dir, imports.Value))
	default:
		for _, c := range imports.Content {
			out = append(out, filepath.Join(dir, c.Value))
		}
	}
	return out
}

// beside lists the graph files of one kind in the folders around a file.
func (w *world) beside(file *source.File, kind reference.Kind) []found {
	var out []found
	seen := map[string]bool{}
	for _, dir := range around(file) {
		names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			continue
		}
		for _, path := range names {
			if seen[path] || path == file.Path {
				continue
			}
			seen[path] = true
			if f, ok := w.entry(path); ok && f.entry.Kind == kind {
				out = append(out, f)
			}
		}
	}
	return out
}

// named finds the graph file of a name and kind: around a file, else the shipped one.
func (w *world) named(file *source.File, name string, kind reference.Kind) (found, bool) {
	for _, dir := range around(file) {
		if f, ok := w.entry(filepath.Join(dir, name+".yaml")); ok && f.entry.Kind == kind {
			return f, true
		}
	}
	for _, e := range w.library.Find(name) {
		if e.Kind == kind {
			return found{entry: e}, true
		}
	}
	return found{}, false
}

func (w *world) entry(path string) (found, bool) {
	data, err := w.read(path)
	if err != nil {
		return found{}, false
	}
	e, err := reference.Read(path, data)
	if err != nil {
		return found{}, false
	}
	return found{path, e}, true
}

// show gives a path under which an editor can open a file: a shipped one is copied into the cache folder.
func (w *world) show(f found) (string, error) {
	if f.path != "" {
		return f.path, nil
	}
	inside := strings.TrimPrefix(f.entry.File, "graphs/")
	data, err := fs.ReadFile(w.shipped, inside)
	if err != nil {
		return "", err
	}
	if w.cache == "" {
		return "", fmt.Errorf("there is no cache folder to show %s in", f.entry.File)
	}
	sum := sha256.Sum256(data)
	out := filepath.Join(w.cache, fmt.Sprintf("%x", sum[:6]), path.Base(inside))
	if have, err := os.ReadFile(out); err == nil && string(have) == string(data) {
		return out, nil
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(filepath.Dir(out), ".shipped-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(temp.Name(), 0o444)
	}
	if err != nil {
		return "", err
	}
	return out, os.Rename(temp.Name(), out)
}

// callees finds what a call's first key names: operators and shipped blocks by the library, blocks of the user's around.
func (w *world) callee(file *source.File, name string) (found, bool) {
	for _, e := range w.library.Find(name) {
		if e.Kind == reference.Operator {
			return found{entry: e}, true
		}
	}
	return w.named(file, name, reference.Block)
}
