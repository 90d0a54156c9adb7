package model

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

// ValidateOptions say what to check.
type ValidateOptions struct {
	// Paths are graph files, and folders that are searched for them (*.yaml, *.yml; hidden folders are left out). None:
	// the shipped model that recognises the config.
	Paths []string
	Facts
}

// Validation is what was checked and found.
type Validation struct {
	Findings
	Files    []string // checked
	Composed []string // of them, those that a plan was made of for the config or checkpoint
	Examples int      // of the files' own, that plans were made for
}

// Validate checks graph files; it needs no MLX. An error means that it could not be done. A model of a folder that does
// not recognise the config is checked without it; one named by itself has to recognise it.
func Validate(ctx context.Context, o ValidateOptions) (*Validation, error) {
	r, err := o.Request()
	if err != nil {
		return nil, err
	}
	v := &validator{ctx: ctx, sources: map[string]*source.File{}, request: r}
	if v.request.Shared, err = compose.NewShared(); err != nil {
		return nil, err
	}
	if len(o.Paths) == 0 {
		if v.request.Config == nil {
			return nil, errors.New("nothing to check: name graph files or folders, or a --config or --checkpoint for the shipped models")
		}
		if err := v.check("", true); err != nil {
			return nil, err
		}
	}
	for _, path := range o.Paths {
		if err := v.path(path); err != nil {
			return nil, err
		}
	}
	v.out.Findings = Findings{List: v.list.Sorted(), Source: sourceOf(v.sources)}
	return &v.out, nil
}

type validator struct {
	ctx     context.Context
	request compose.Request
	list    diag.List
	sources map[string]*source.File
	out     Validation
}

func (v *validator) path(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return missing(path, "graph file or folder", err)
	}
	if !info.IsDir() {
		return v.check(path, true)
	}
	before := len(v.out.Files)
	err = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		switch ext := strings.ToLower(filepath.Ext(file)); {
		case err != nil:
			return err
		case e.IsDir():
			if file != path && strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		case ext != ".yaml" && ext != ".yml":
			return nil
		}
		return v.check(file, false)
	})
	if err == nil && len(v.out.Files) == before {
		return fmt.Errorf("%s: no *.yaml or *.yml in this folder", path)
	}
	return err
}

// check composes a file, "" for the shipped model of the config. A named one must fit the config.
func (v *validator) check(file string, named bool) error {
	if slices.Contains(v.out.Files, file) {
		return nil
	}
	r := v.request
	r.Graph, r.Check = file, true
	done, err := compose.Compose(v.ctx, r)
	if err != nil {
		return err
	}
	found := done.Diagnostics.Sorted()
	if !named && r.Config != nil && notForConfig(found) { // one of a folder is for other models: by itself
		r.Config, r.Checkpoint, r.Variants, r.Rules = nil, nil, nil, nil
		if done, err = compose.Compose(v.ctx, r); err != nil {
			return err
		}
		found = done.Diagnostics.Sorted()
	}
	if file == "" {
		file = "graphs/models/" + done.Model + ".yaml"
		if done.Model == "" {
			file = "the shipped models"
		}
	}
	v.out.Files = append(v.out.Files, file)
	if done.Plan != nil {
		v.out.Composed = append(v.out.Composed, file)
	}
	v.out.Examples += len(done.Examples)
	for _, d := range found {
		v.list.Put(d)
	}
	for name, f := range done.Sources {
		v.sources[name] = f
	}
	return nil
}

// notForConfig tells whether a file is for other models than that of the config.
func notForConfig(list []*diag.Diagnostic) bool {
	codes := []string{"not-recognised", "no-model", "variant-of-another", "variant-requires"}
	return slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error && slices.Contains(codes, d.Code) })
}
