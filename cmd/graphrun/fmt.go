package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/graphrun/graphrun/compose/format"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

type fmtCmd struct {
	Paths []string `arg:"" name:"file|dir" help:"Graph files, and folders to search for them; - is standard input."`
	Write bool     `short:"w" xor:"what" help:"Write into the files what is not formatted, and name those files."`
	Check bool     `xor:"what" help:"Write nothing; name the files that are not formatted and exit with 1 if there is one."`
}

// Help is shown by --help below the first line.
func (c *fmtCmd) Help() string {
	return `Canonical form: keys of a file in their order, two-space indents with lists at their key's column, one space behind commas,
single quotes, no trailing space. Comments, aligned values, blank lines and the choice between braces and lines are kept; the
meaning never changes. Without --write or --check the formatted text goes to standard output.`
}

func (c *fmtCmd) Run(t terminal) error {
	if len(c.Paths) == 1 && c.Paths[0] == "-" {
		if c.Write {
			return errors.New("standard input cannot be written to")
		}
		return c.stdin(t)
	}
	files, err := format.Files(c.Paths)
	if err != nil {
		return err
	}
	code := exitOK
	for _, name := range files {
		var list diag.List
		before, after, err := format.File(name, &list)
		switch {
		case err != nil:
			t.say("graphrun: %v", err)
			code = exitFailed
		case list.HasErrors():
			t.findings(list.Sorted(), linesOf(before))
			code = max(code, exitFindings)
		case !c.Write && !c.Check:
			if _, err := t.out.Write(after); err != nil {
				return err
			}
		case !bytes.Equal(before, after):
			fmt.Fprintln(t.out, name)
			if c.Check {
				code = max(code, exitFindings)
			} else if err := format.Replace(name, after); err != nil {
				return err
			}
		}
	}
	if code != exitOK {
		return exit(code)
	}
	return nil
}

func (c *fmtCmd) stdin(t terminal) error {
	data, err := io.ReadAll(io.LimitReader(t.in, source.MaxBytes+1))
	if err != nil {
		return err
	}
	var list diag.List
	out, err := format.Source("<stdin>", data, &list)
	switch {
	case err != nil:
		return err
	case list.HasErrors():
		t.findings(list.Sorted(), linesOf(data))
		return exit(exitFindings)
	case c.Check:
		if !bytes.Equal(data, out) {
			fmt.Fprintln(t.out, "<stdin>")
			return exit(exitFindings)
		}
		return nil
	}
	_, err = t.out.Write(out)
	return err
}

// linesOf gives the lines of one text, whatever the file's name.
func linesOf(data []byte) diag.SourceLine {
	lines := bytes.Split(data, []byte("\n"))
	return func(_ string, n int) (string, bool) {
		if n < 1 || n > len(lines) {
			return "", false
		}
		return string(bytes.TrimSuffix(lines[n-1], []byte("\r"))), true
	}
}
