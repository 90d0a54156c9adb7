package main

import (
	"fmt"
	"io"

	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/schema"
)

type schemaCmd struct {
	Kind   string `enum:"all,model,block,variant,rules" default:"all" placeholder:"KIND" help:"model, block, variant or rules: the schema of that kind of file alone."`
	Output string `short:"o" placeholder:"FILE" help:"Write into this file rather than to standard output."`
}

// Help is shown by --help below the first line.
func (c *schemaCmd) Help() string {
	return `The schema is JSON Schema 2020-12 and comes from this build: its operators, classes and shipped blocks. An editor with a YAML
language server (yaml-language-server, as in VS Code's YAML extension) checks, completes and explains a file by it where the
file's first line is

  # yaml-language-server: $schema=graphrun.schema.json

with the path, from that file, of what ` + "`graphrun schema -o graphrun.schema.json`" + ` wrote; or where the editor's settings map
file names to it ("yaml.schemas"). ` + "`graphrun lsp`" + ` knows more: names in scope, types, shapes.`
}

func (c *schemaCmd) Run(t terminal) error {
	r, err := ops.Default()
	if err != nil {
		return err
	}
	s, err := schema.New(r, graphs.Files)
	if err != nil {
		return err
	}
	if c.Kind != "all" {
		if s, err = s.Only(c.Kind); err != nil {
			return err
		}
	}
	data, err := s.JSON()
	if err != nil {
		return err
	}
	if c.Output == "" {
		_, err = t.out.Write(data)
		return err
	}
	if err := writeFile(c.Output, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return fmt.Errorf("the schema is not written: %w", err)
	}
	return nil
}
