package main

import "github.com/graphrun/graphrun/schema/reference"

type opsCmd struct {
	JSON bool `name:"json" help:"As JSON, an object per line."`
}

func (c *opsCmd) Run(t terminal) error {
	l, err := library()
	if err != nil {
		return err
	}
	return listEntries(t, l.Of(reference.Operator), c.JSON, func(e reference.Entry) []string { return []string{e.Name} })
}

// listEntries writes a line per entry.
func listEntries(t terminal, entries []reference.Entry, asJSON bool, columns func(reference.Entry) []string) error {
	if asJSON {
		for _, e := range entries {
			if err := printJSON(t, e); err != nil {
				return err
			}
		}
		return nil
	}
	width, _ := screen(t.out)
	return reference.FprintTable(t.out, entries, columns, width)
}
