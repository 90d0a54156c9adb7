package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

// Findings are diagnostics with the lines that they point into; as an error, that there are errors among them.
type Findings struct {
	List   []*diag.Diagnostic
	Source diag.SourceLine
	err    error // what they were made of
}

func sourceOf(files map[string]*source.File) diag.SourceLine {
	return func(file string, line int) (string, bool) {
		f := files[file]
		if f == nil {
			return "", false
		}
		return f.Line(line), true
	}
}

// Error is the first error, and how many there are in all.
func (f *Findings) Error() string {
	for _, d := range f.List {
		if d.Severity == diag.Error {
			if len(f.List) == 1 {
				return d.Error()
			}
			return d.Error() + " (in all: " + diag.Summary(f.List) + ")"
		}
	}
	return diag.Summary(f.List)
}

func (f *Findings) Unwrap() error { return f.err }

// missing names what is not there, and what is that could be meant.
func missing(path, what string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(filepath.Clean(path))
	entries, bad := os.ReadDir(dir)
	if bad != nil {
		return fmt.Errorf("%s: there is no such %s; the folder %s cannot be read either", path, what, dir)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if near := diag.Nearest(filepath.Base(path), names); near != "" {
		return fmt.Errorf("%s: there is no such %s; did you mean %s?", path, what, filepath.Join(dir, near))
	}
	return fmt.Errorf("%s: there is no such %s", path, what)
}
