package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/draft"
	"github.com/graphrun/graphrun/model"
)

type initCmd struct {
	Path    string `arg:"" placeholder:"CHECKPOINT|config.json" help:"A checkpoint, of which headers alone are read, or a config.json."`
	Variant bool   `xor:"what" help:"A variant in any case; an error where no shipped model recognises the config."`
	Model   bool   `xor:"what" help:"A model file in any case, also where a shipped model recognises the config."`
	Output  string `short:"o" placeholder:"FILE" help:"Write into this file, which must not exist, instead of to standard output. Its name is the graph's."`
}

// Help is shown by --help below the first line.
func (c *initCmd) Help() string {
	return `Where a shipped model recognises the config, a variant of it: each line binds the class that its ports have anyway, with the other
classes that would take them in comments. Where none does, a draft of a model file: the shipped model whose tensors are most like
the checkpoint's, with boolean settings changed where that makes more tensors fit; comments say what was found in the checkpoint
(layers, projections, norms) and what is not decided.`
}

func (c *initCmd) Run(ctx context.Context, t terminal) error {
	if c.Output != "" {
		if _, err := os.Lstat(c.Output); err == nil {
			return fmt.Errorf("%s exists: init overwrites nothing", c.Output)
		}
	}
	facts, flag := model.Facts{Exact: true, Checkpoint: c.Path}, "--checkpoint "
	if strings.HasSuffix(strings.ToLower(c.Path), ".json") {
		facts, flag = model.Facts{Exact: true, Config: c.Path}, "--config "
	}
	r, err := facts.Request()
	if err != nil {
		return err
	}
	about := draft.About{File: c.Output, Flag: flag + c.Path, Path: c.Path}
	made, err := model.Compose(ctx, r)
	if err != nil {
		return err
	}
	unknown := len(made.Found.List) == 1 && made.Found.List[0].Code == "no-model"
	var text []byte
	switch {
	case c.Model || unknown && !c.Variant:
		text, err = c.model(ctx, t, r, about)
	case made.Plan == nil:
		return made.Found
	default:
		about.Name = c.name(made.Model + "-variant")
		if text, err = draft.Variant(made.Plan, r.Registry, about, made.Fingerprint); err == nil {
			t.say("%s recognises it: this is a variant of %s", made.Model, made.Model)
		}
	}
	if err != nil {
		return err
	}
	return c.write(t, text)
}

func (c *initCmd) model(ctx context.Context, t terminal, r compose.Request, about draft.About) ([]byte, error) {
	kind, _ := r.Config.Values["model_type"].(string)
	if kind == "" {
		kind = "draft"
	}
	about.Name = c.name(kind)
	if _, err := fs.Stat(r.Shipped, "models/"+about.Name+".yaml"); err == nil {
		about.Name += "-own"
	}
	text, fits, err := draft.Model(ctx, r, about)
	if err == nil && !fits {
		t.say("this is a draft: its comments say what is not decided")
	}
	return text, err
}

// name is the graph's: that of the file that is written, else from what it is for.
func (c *initCmd) name(otherwise string) string {
	if c.Output != "" {
		base := filepath.Base(c.Output)
		otherwise = strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml")
	}
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, otherwise)
	if clean == "" {
		return "draft"
	}
	return clean
}

func (c *initCmd) write(t terminal, text []byte) error {
	if c.Output == "" {
		_, err := t.out.Write(text)
		return err
	}
	f, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(c.Output) // it was not there before
	}
	return err
}
