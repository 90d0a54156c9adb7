package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/schema/reference"
)

type docCmd struct {
	Name []string `arg:"" name:"name|file" help:"An operator, class, state, kind of port, shipped block, model, variant or rules file, or the path of a graph file. \"operator rope\" asks for one kind."`
	JSON bool     `name:"json" help:"As JSON, an object per line and meaning."`
}

func library() (*reference.Library, error) {
	r, err := ops.Default()
	if err != nil {
		return nil, err
	}
	return reference.New(r, graphs.Files)
}

func (c *docCmd) Run(t terminal) error {
	l, err := library()
	if err != nil {
		return err
	}
	name := strings.Join(c.Name, " ")
	found := l.Find(name)
	if len(found) == 0 {
		e, err := fileDoc(name)
		switch {
		case err == nil:
			found = []reference.Entry{e}
		case errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml"):
			return l.Unknown(name)
		default:
			return err
		}
	}
	width, _ := screen(t.out)
	for i, e := range found {
		if c.JSON {
			err = printJSON(t, e)
		} else {
			if i > 0 {
				fmt.Fprintln(t.out)
			}
			err = e.Fprint(t.out, min(width, 120))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fileDoc describes a graph file of the user's.
func fileDoc(name string) (reference.Entry, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return reference.Entry{}, err
	}
	return reference.Read(name, data)
}

func printJSON(t terminal, v any) error {
	e := json.NewEncoder(t.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
