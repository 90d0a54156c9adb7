package lsp

import (
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/lsp/cursor"
)

// mirror is a folder in which the files around one stand as the editor has them: links to what is on the disk, and
// copies of texts that are not saved. Where everything is saved there is none.
type mirror struct {
	path string // of the file to compose
	root string // "" where nothing is mirrored
}

func newMirror(w *world, path string) (*mirror, error) {
	unsaved := map[string][]byte{}
	for p, text := range w.texts() {
		if data, err := os.ReadFile(p); err != nil || string(data) != string(text) {
			unsaved[p] = text
		}
	}
	text, open := unsaved[path]
	if len(unsaved) == 0 {
		return &mirror{path: path}, nil
	}
	if !open {
		var err error
		if text, err = w.read(path); err != nil {
			return nil, err
		}
	}
	root, err := os.MkdirTemp("", "graphrun-lsp-")
	if err != nil {
		return nil, err
	}
	m := &mirror{path: filepath.Join(root, below(path)), root: root}
	var list diag.List
	file := source.Parse(path, text, &list)
	for _, dir := range around(file) {
		if err := m.folder(dir, unsaved); err != nil {
			m.remove()
			return nil, err
		}
	}
	for _, config := range exampleFiles(file) {
		to := filepath.Join(root, below(config))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			_ = os.Symlink(config, to)
		}
	}
	for p, text := range unsaved {
		to := filepath.Join(root, below(p))
		if info, err := os.Stat(filepath.Dir(to)); err != nil || !info.IsDir() {
			continue // of a folder that the file does not see
		}
		_ = os.Remove(to)
		if err := os.WriteFile(to, text, 0o600); err != nil {
			m.remove()
			return nil, err
		}
	}
	return m, nil
}

// exampleFiles are the configs that a file names.
func exampleFiles(file *source.File) []string {
	var out []string
	examples := cursor.Child(file.Root, "examples")
	if examples == nil {
		return nil
	}
	for _, n := range examples.Content {
		if c := cursor.Child(n, "config"); c != nil {
			n = c
		}
		if n.Kind == yaml.ScalarNode {
			out = append(out, filepath.Join(filepath.Dir(file.Path), n.Value))
		}
	}
	return out
}

// below is a path below a root: without the name of a volume.
func below(path string) string { return strings.TrimPrefix(path, filepath.VolumeName(path)) }

// folder links what a folder holds.
func (m *mirror) folder(dir string, unsaved map[string][]byte) error {
	to := filepath.Join(m.root, below(dir))
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, e := range entries {
		from := filepath.Join(dir, e.Name())
		if _, ok := unsaved[from]; ok {
			continue
		}
		link := filepath.Join(to, e.Name())
		if _, err := os.Lstat(link); err == nil {
			continue
		}
		if err := os.Symlink(from, link); err != nil { // where links are not allowed
			if data, err := os.ReadFile(from); err == nil && !e.IsDir() {
				if err := os.WriteFile(link, data, 0o600); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (m *mirror) remove() {
	if m.root != "" {
		_ = os.RemoveAll(m.root)
	}
}

// restored are findings with the paths that the editor knows.
func (m *mirror) restored(list []*diag.Diagnostic) []*diag.Diagnostic {
	if m.root == "" {
		return list
	}
	plain := func(text string) string { return strings.ReplaceAll(text, m.root, "") }
	out := make([]*diag.Diagnostic, len(list))
	for i, d := range list {
		c := *d
		c.At.File, c.Message = plain(c.At.File), plain(c.Message)
		c.Related, c.Help = nil, nil
		for _, r := range d.Related {
			r.At.File, r.Message = plain(r.At.File), plain(r.Message)
			c.Related = append(c.Related, r)
		}
		for _, h := range d.Help {
			c.Help = append(c.Help, plain(h))
		}
		out[i] = &c
	}
	return out
}
