package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/model"
)

type validateCmd struct {
	Paths []string `arg:"" optional:"" name:"file|dir" help:"Graph files, and folders to search for *.yaml and *.yml. None: the shipped model for --config or --checkpoint."`

	Config     string   `placeholder:"FILE" help:"Compose the models for this config.json too."`
	Checkpoint string   `short:"c" placeholder:"PATH" help:"Compose them for this checkpoint, held to its tensors (only headers are read)."`
	Force      bool     `help:"Compose a model even if it does not recognise the config."`
	Variant    []string `sep:"none" placeholder:"NAME|FILE" help:"A variant for every model that is composed; may be repeated."`
	Rules      []string `sep:"none" placeholder:"NAME|FILE" help:"Rules that every plan has to hold; may be repeated."`
	Exact      bool     `help:"Take no variant by default."`
	Strict     bool     `help:"Count warnings as findings."`
	Format     string   `enum:"text,json,github,sarif" default:"text" placeholder:"text|json|github|sarif" help:"json: an object per line, at the end {\"summary\": …}; github: annotations; sarif: SARIF 2.1.0, for code scanning."`
}

func (c *validateCmd) Run(ctx context.Context, t terminal) error {
	r, err := model.Validate(ctx, model.ValidateOptions{Paths: c.Paths, Facts: model.Facts{
		Config: c.Config, Checkpoint: c.Checkpoint, Force: c.Force, Variants: c.Variant, Rules: c.Rules, Exact: c.Exact,
	}})
	if err != nil {
		var found *model.Findings
		if errors.As(err, &found) {
			return errors.New(found.Error())
		}
		return err
	}
	if err := c.print(t, r); err != nil {
		return err
	}
	for _, d := range r.List {
		if d.Severity == diag.Error || d.Severity == diag.Warning && c.Strict {
			return exit(exitFindings)
		}
	}
	return nil
}

// summary ends every report: nothing found is told as well.
type summary struct {
	Files    int      `json:"files"`              // checked
	Composed []string `json:"composed"`           // of them, for the config or checkpoint
	Examples int      `json:"examples,omitempty"` // of the files' own that were composed
	Errors   int      `json:"errors"`
	Warnings int      `json:"warnings"`
}

func (c *validateCmd) print(t terminal, r *model.Validation) error {
	s := summary{Files: len(r.Files), Composed: append([]string{}, r.Composed...), Examples: r.Examples}
	for _, d := range r.List {
		switch d.Severity {
		case diag.Error:
			s.Errors++
		case diag.Warning:
			s.Warnings++
		}
	}
	switch c.Format {
	case "json":
		if err := diag.FprintJSON(t.out, r.List); err != nil {
			return err
		}
		return json.NewEncoder(t.out).Encode(map[string]summary{"summary": s})
	case "sarif":
		return diag.FprintSARIF(t.out, r.List, r.Source, buildVersion().Version)
	case "github":
		if err := diag.FprintGitHub(t.out, r.List); err != nil {
			return err
		}
	default:
		if err := diag.Fprint(t.out, r.List, r.Source, style(t.out)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(t.out, s.text(c))
	return err
}

func (s summary) text(c *validateCmd) string {
	files := "1 file"
	if s.Files != 1 {
		files = fmt.Sprintf("%d files", s.Files)
	}
	found := "no errors"
	switch {
	case s.Errors == 1:
		found = "1 error"
	case s.Errors > 1:
		found = fmt.Sprintf("%d errors", s.Errors)
	}
	if s.Warnings > 0 {
		found += fmt.Sprintf(", %d warnings", s.Warnings)
		if s.Warnings == 1 {
			found = strings.TrimSuffix(found, "s")
		}
	}
	facts := c.Checkpoint
	if facts == "" {
		facts = c.Config
	}
	how := "checked for syntax, names and types; --config or --checkpoint composes models too"
	switch {
	case s.Examples == 1 && facts == "":
		how = "composed for 1 example"
	case s.Examples > 1 && facts == "":
		how = fmt.Sprintf("composed for %d examples", s.Examples)
	case len(s.Composed) > 0:
		how = fmt.Sprintf("composed for %s: %s", facts, strings.Join(s.Composed, ", "))
	case facts != "":
		how = "none was composed for " + facts
	}
	return fmt.Sprintf("%s: %s (%s)", files, found, how)
}
