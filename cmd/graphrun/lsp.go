package main

import (
	"context"
	"errors"

	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/lsp"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/ops"
)

type lspCmd struct {
	Stdio bool `help:"As many editors say it; there is no other way to talk."`
}

// Help is shown by --help below the first line.
func (c *lspCmd) Help() string {
	return `An editor starts it for YAML files that begin with ` + "`graphrun: v1`" + ` and talks to it over standard input and output (Language Server
Protocol): findings while one types, hovering, completion, definitions, formatting, fixes for misspelt words.

Neovim:  vim.lsp.start({name = "graphrun", cmd = {"graphrun", "lsp"}, root_dir = vim.fn.getcwd()})
Helix:   [language-server.graphrun] command = "graphrun", args = ["lsp"]
VS Code: any extension that starts a language server for a command`
}

func (c *lspCmd) Run(ctx context.Context, t terminal) error {
	r, err := ops.Default()
	if err != nil {
		return err
	}
	err = lsp.Serve(ctx, t.in, t.out, lsp.Options{Registry: r, Shipped: graphs.Files, Version: buildVersion().Version,
		Memory: model.MemoryLines(r)})
	if errors.Is(err, lsp.ErrNotShutDown) {
		return exit(exitFindings) // as the protocol wants it
	}
	return err
}
