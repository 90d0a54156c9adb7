package main

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/graphrun/graphrun/diag"
)

const codesHint = "codes"

type helpCmd struct {
	Topic string `arg:"" optional:"" help:"A command, a code as in error[unknown-name], or ${codes} for the list of codes."`
}

func (c *helpCmd) Run(t terminal, parser *kong.Kong) error {
	if e, ok := diag.Explain(c.Topic); ok {
		_, err := fmt.Fprint(t.out, e)
		return err
	}
	var names []string
	for _, n := range parser.Model.Leaves(true) {
		names = append(names, n.Name)
	}
	switch {
	case c.Topic == codesHint:
		for _, e := range diag.Explanations() {
			if _, err := fmt.Fprintf(t.out, "%-22s %s\n", e.Code, e.Title); err != nil {
				return err
			}
		}
		return nil
	case c.Topic == "" || slices.Contains(names, c.Topic):
		var path []string
		if c.Topic != "" {
			path = []string{c.Topic}
		}
		k, err := kong.Trace(parser, path)
		if err != nil {
			return err
		}
		return k.PrintUsage(false)
	}
	for _, e := range diag.Explanations() {
		names = append(names, e.Code)
	}
	help := diag.DidYouMean(c.Topic, names)
	if help == "" {
		help = "`graphrun help codes` lists the codes"
	}
	return fmt.Errorf("%q is neither a command nor the code of a diagnostic: %s", c.Topic, help)
}
