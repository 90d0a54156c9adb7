package main

import (
	"strings"

	"github.com/graphrun/graphrun/schema/reference"
)

type classesCmd struct {
	JSON bool `name:"json" help:"As JSON, an object per line."`
}

func (c *classesCmd) Run(t terminal) error {
	l, err := library()
	if err != nil {
		return err
	}
	return listEntries(t, l.Of(reference.Class), c.JSON, func(e reference.Entry) []string {
		numerics, _, _ := strings.Cut(e.Fact("numerics"), ":")
		kernel, _, _ := strings.Cut(e.Fact("kernel"), ":")
		return []string{e.Name, e.Fact("kinds"), e.Fact("rows"), numerics, "kernel: " + kernel}
	})
}
