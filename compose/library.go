package compose

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
)

// library finds documents by name: beside the file, in its imports, among the shipped. Each file is read once.
type library struct {
	list    *diag.List
	shared  *Shared
	shipped fs.FS
	overlay map[string][]byte
	docs    map[string]*syntax.Document
	sources map[string]*source.File
	parts   map[string]bool           // sources of which only what chooses a model was read
	inside  map[*source.File]bool     // files that are inside the program
	besides map[*syntax.Document]bool // variants and rules that were checked, and whether they are sound
	checked map[*source.File]bool     // files that static checking has looked at, where several examples need them
}

func newLibrary(shared *Shared, shipped fs.FS, overlay map[string][]byte, list *diag.List) *library {
	return &library{list: list, shared: shared, shipped: shipped, overlay: overlay, docs: map[string]*syntax.Document{}, sources: map[string]*source.File{}, parts: map[string]bool{}, inside: map[*source.File]bool{}, checked: map[*source.File]bool{}, besides: map[*syntax.Document]bool{}}
}

// shippedPrefix begins the paths by which people know files that are inside the program. A folder of the user's may have the
// same name, so it tells nothing: fromShipped does.
const shippedPrefix = "graphs/"

// open reads and parses a file of the user's.
func (l *library) open(name string) *syntax.Document {
	data, err := l.read(name)
	if err != nil {
		d := l.list.Errorf("file-unreadable", diag.Range{File: name}, "%v", errors.Unwrap(err))
		if beside, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*.y*ml")); errors.Is(err, fs.ErrNotExist) {
			if near := diag.DidYouMean(filepath.Clean(name), beside); near != "" {
				d.Helped("%s", near)
			}
		}
		return nil
	}
	return l.parse(name, name, data)
}

// read gives a file of the user's: as the request has it, else from the disk.
func (l *library) read(name string) ([]byte, error) {
	if text, ok := l.overlay[filepath.Clean(name)]; ok {
		return text, nil
	}
	return readLimited(name)
}

// readLimited reads no more of a file than shows that it is too large.
func readLimited(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder")}
	}
	data := make([]byte, 0, min(info.Size(), source.MaxBytes)+1)
	for len(data) <= source.MaxBytes {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil || n == 0 {
			break
		}
	}
	return data, nil
}

// parse reads a text once for each key.
func (l *library) parse(key, name string, data []byte) *syntax.Document {
	if d, ok := l.docs[key]; ok {
		return d
	}
	file := source.Parse(name, data, l.list)
	if key == name || l.sources[name] == nil || l.parts[name] { // of two files that have one path the user's is shown
		l.sources[name] = file
		delete(l.parts, name)
	}
	l.inside[file] = key != name
	d := syntax.Parse(file, l.list)
	if d != nil && key != name {
		want := strings.TrimSuffix(path.Base(name), ".yaml")
		if d.Name.Text != "" && d.Name.Text != want && (d.Kind == "block" || d.Kind == "model") {
			l.list.Errorf("name-of-file", d.Name.At, "the file %s.yaml holds a %s named %s", want, d.Kind, d.Name.Text).Helped("write `name: %s`, or rename the file", want)
		}
	}
	l.docs[key] = d
	return d
}

// fromShipped tells whether a document is inside the program.
func (l *library) fromShipped(d *syntax.Document) bool { return l.inside[d.File] }

// models reads every shipped model, by name.
func (l *library) models() []*syntax.Document {
	entries, err := fs.ReadDir(l.shipped, "models")
	if err != nil {
		return nil
	}
	var out []*syntax.Document
	for _, e := range entries {
		if d := l.readShipped("models/" + e.Name()); d != nil && d.Kind == "model" {
			out = append(out, d)
		}
	}
	return out
}

// headers reads of every shipped model what chooses it: its name and condition.
func (l *library) headers() []*syntax.Document {
	out := l.shared.headers
	for _, d := range out {
		l.noteHeader(d.File)
	}
	if out != nil {
		return out
	}
	entries, err := fs.ReadDir(l.shipped, "models")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		data, err := fs.ReadFile(l.shipped, "models/"+e.Name())
		if err != nil {
			continue
		}
		var unread diag.List // what is missing here is in the file
		name := shippedPrefix + "models/" + e.Name()
		file, is := source.Head(name, data, "graphrun", "kind", "name", "recognises")
		if !is {
			file = source.Parse(name, data, &unread)
		}
		if d := syntax.Parse(file, &unread); d != nil && d.Kind == "model" {
			l.noteHeader(file)
			out = append(out, d)
		}
	}
	l.shared.headers = out
	return out
}

// noteHeader keeps a part of a file as its source, where the whole is not read.
func (l *library) noteHeader(file *source.File) {
	if l.sources[file.Path] == nil {
		l.sources[file.Path], l.parts[file.Path] = file, true
	}
}

// shippedNames lists the shipped files of a folder, as a request names them.
func (l *library) shippedNames(folder string) []string {
	entries, _ := fs.ReadDir(l.shipped, folder)
	var out []string
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), ".yaml"); is {
			out = append(out, name)
		}
	}
	return out
}

// block finds a block by name, from the document that calls it. It reports what is found twice or cannot be read.
func (l *library) block(name string, from *syntax.Document) *syntax.Document {
	var found []string
	for _, dir := range l.around(from) {
		if file := filepath.Join(dir, name+".yaml"); l.exists(file) {
			found = append(found, file)
		}
	}
	inside := ""
	if _, err := fs.Stat(l.shipped, "blocks/"+name+".yaml"); err == nil {
		inside = "blocks/" + name + ".yaml"
	}
	switch {
	case len(found) == 0 && inside == "":
		return nil
	case len(found) == 0:
		return l.readShipped(inside)
	case len(found) > 1 || inside != "" && !l.isShipped(found[0], inside):
		second := shippedPrefix + inside
		if len(found) > 1 {
			second = found[1]
		}
		l.list.Errorf("name-twice", diag.Range{File: found[0], Line: 1, Col: 1, EndLine: 1, EndCol: 1}, "the block %s is found in two places", name).
			Because(diag.Range{File: second, Line: 1, Col: 1, EndLine: 1, EndCol: 1}, "also here").
			Helped("copy and rename it; a file does not shadow another")
	}
	d := l.open(found[0])
	if d != nil && d.Kind != "block" {
		return nil
	}
	return d
}

// isShipped tells whether a file is a copy of a shipped one, as in the folder that these are built from.
func (l *library) isShipped(file, inside string) bool {
	mine, err := l.read(file)
	if err != nil {
		return false
	}
	own, err := fs.ReadFile(l.shipped, inside)
	return err == nil && bytes.Equal(mine, own)
}

// around are the folders a document's names are looked for in; none for a shipped one.
func (l *library) around(from *syntax.Document) []string {
	if from == nil || l.fromShipped(from) {
		return nil
	}
	dir := filepath.Dir(from.File.Path)
	out := []string{dir}
	for _, i := range from.Imports {
		if folder := filepath.Join(dir, i.Text); folder != dir {
			out = append(out, folder)
		}
	}
	return out
}

// blockNames lists the blocks that a document can call; the folders are read once.
func (l *library) blockNames(from *syntax.Document) []string {
	dirs := l.around(from)
	key := strings.Join(dirs, "\x00")
	if names, ok := l.shared.names[key]; ok {
		return names
	}
	var out []string
	for _, dir := range dirs {
		for _, f := range l.filesIn(dir) {
			if data, err := l.read(f); err == nil && kindOf(data) == "block" {
				out = append(out, strings.TrimSuffix(filepath.Base(f), ".yaml"))
			}
		}
	}
	entries, _ := fs.ReadDir(l.shipped, "blocks")
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	sort.Strings(out)
	l.shared.names[key] = out
	return out
}

// filesIn lists the YAML files of a folder, those too that the request alone has.
func (l *library) filesIn(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
	for name := range l.overlay {
		if filepath.Dir(name) == dir && filepath.Ext(name) == ".yaml" && !containsString(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// kindOf reads what a YAML file is, without parsing it.
func kindOf(text []byte) string {
	for line := range bytes.Lines(text) {
		if kind, is := bytes.CutPrefix(line, []byte("kind:")); is {
			word, _, _ := bytes.Cut(kind, []byte("#"))
			return string(bytes.TrimSpace(word))
		}
	}
	return ""
}

func (l *library) exists(name string) bool {
	if _, ok := l.overlay[name]; ok {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// unsound tells whether what lies under a model's name beside a file could not be read whole.
func (l *library) unsound(name string, from *syntax.Document) bool {
	for _, dir := range l.around(from) {
		if l.list.In(filepath.Join(dir, name+".yaml")) {
			return true
		}
	}
	return false
}

// modelNames lists the models that a document may name.
func (l *library) modelNames(from *syntax.Document) []string {
	out := l.shippedNames("models")
	for _, dir := range l.around(from) {
		for _, f := range l.filesIn(dir) {
			if data, err := l.read(f); err == nil && kindOf(data) == "model" {
				out = append(out, strings.TrimSuffix(filepath.Base(f), ".yaml"))
			}
		}
	}
	return out
}

// model finds a model by name: beside the file, in its imports, among the shipped.
func (l *library) model(name string, from *syntax.Document) *syntax.Document {
	var d *syntax.Document
	for _, dir := range l.around(from) {
		if file := filepath.Join(dir, name+".yaml"); d == nil && l.exists(file) {
			d = l.open(file)
		}
	}
	if d == nil {
		d = l.readShipped("models/" + name + ".yaml")
	}
	if d == nil || d.Kind != "model" {
		return nil
	}
	return d
}
