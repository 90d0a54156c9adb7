package reference

import (
	"fmt"
	"strings"
)

// Markdown is an entry as editors show it beside the text.
func (e Entry) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** `%s`\n", e.Kind, e.Signature())
	if e.Doc != "" {
		fmt.Fprintf(&b, "\n%s\n", escape(strings.Join(strings.Fields(e.Doc), " ")))
	}
	list := func(title string, items []Item, params bool) {
		if len(items) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s:\n", title)
		for _, i := range items {
			fmt.Fprintf(&b, "- %s\n", i.markdown(params))
		}
	}
	list("Inputs", e.Inputs, false)
	list("Results", described(e.Outputs), false)
	list("Parameters", e.Params, true)
	for i, f := range e.Facts {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, escape(f.Text))
	}
	if len(e.Example) > 0 {
		fmt.Fprintf(&b, "\n```yaml\n%s\n```\n", strings.Join(e.Example, "\n"))
	}
	return b.String()
}

// Markdown is one input or parameter.
func (i Item) markdown(param bool) string {
	text := "`" + i.Name + "`"
	var about []string
	if i.Type != "" {
		about = append(about, i.Type)
	}
	if param {
		about = append(about, i.Presence())
	} else if i.Optional {
		about = append(about, "optional")
	}
	if len(about) > 0 {
		text += " (" + escape(strings.Join(about, ", ")) + ")"
	}
	if i.Doc != "" {
		text += ": " + escape(i.Doc)
	}
	return text
}

// Param is a parameter's line alone, for hovering over its key.
func (e Entry) Param(name string) (string, bool) {
	for _, p := range e.Params {
		if p.Name == name {
			return fmt.Sprintf("parameter of %s %s: %s", e.Kind, e.Name, p.markdown(true)), true
		}
	}
	for _, in := range e.Inputs {
		if in.Name == name {
			return fmt.Sprintf("input of %s %s: %s", e.Kind, e.Name, in.markdown(false)), true
		}
	}
	return "", false
}

// escape keeps text from being read as Markdown, but for `code`.
func escape(text string) string {
	var b strings.Builder
	code := false
	for _, r := range text {
		if r == '`' {
			code = !code
		}
		if !code && strings.ContainsRune(`\*_<>[]#|`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	if code { // an odd one out would swallow the rest
		return strings.ReplaceAll(b.String(), "`", "\\`")
	}
	return b.String()
}
