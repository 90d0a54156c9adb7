package diag

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// FprintJSON writes one JSON object per line and diagnostic, with the keys of Diagnostic.
func FprintJSON(w io.Writer, list []*Diagnostic) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, d := range list {
		if err := e.Encode(d); err != nil {
			return err
		}
	}
	return nil
}

// FprintGitHub writes the workflow commands that GitHub shows as annotations of a change.
func FprintGitHub(w io.Writer, list []*Diagnostic) error {
	command := map[Severity]string{Error: "error", Warning: "warning", Note: "notice"}
	for _, d := range list {
		var properties []string
		add := func(key, value string) { properties = append(properties, key+"="+escapeProperty(value)) }
		if !d.At.IsZero() {
			add("file", d.At.File)
		}
		if d.At.Line > 0 {
			add("line", fmt.Sprint(d.At.Line))
			if d.At.EndLine > d.At.Line {
				add("endLine", fmt.Sprint(d.At.EndLine))
			} else {
				add("col", fmt.Sprint(d.At.Col))
				add("endColumn", fmt.Sprint(max(d.At.EndCol, d.At.Col+1)))
			}
		}
		add("title", d.Code)
		text := d.Message
		if d.Path != "" {
			text += "\nin: " + d.Path
		}
		for _, r := range d.Related {
			text += fmt.Sprintf("\nnote: %s: %s", r.At, r.Message)
		}
		for _, h := range d.Help {
			text += "\nhelp: " + h
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", command[d.Severity], strings.Join(properties, ","), escapeData(text)); err != nil {
			return err
		}
	}
	return nil
}

// The runner's own escapes: a text must not begin another command.
var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeData(s string) string     { return dataEscapes.Replace(s) }
func escapeProperty(s string) string { return propertyEscapes.Replace(s) }
