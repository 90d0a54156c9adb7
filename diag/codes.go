package diag

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Explanation is what a code means.
type Explanation struct {
	Code  string
	Title string
	Text  string // what it means and what to write instead, with an example where one helps; Markdown
}

// String is the entry as it is shown.
func (e Explanation) String() string {
	out := e.Code + ": " + e.Title + "\n"
	if e.Text != "" {
		out += "\n" + e.Text + "\n"
	}
	return out
}

//go:embed codes.md
var codesText string

var parseCodes = sync.OnceValue(func() []Explanation {
	var out []Explanation
	for _, entry := range strings.Split(codesText, "\n## ")[1:] {
		head, text, _ := strings.Cut(entry, "\n")
		code, title, _ := strings.Cut(head, ": ")
		out = append(out, Explanation{code, title, strings.Trim(text, "\n")})
	}
	return out
})

// Explanations are those of all codes, in alphabetical order.
func Explanations() []Explanation { return slices.Clone(parseCodes()) }

// Explain finds the explanation of a code.
func Explain(code string) (Explanation, bool) {
	for _, e := range parseCodes() {
		if e.Code == code {
			return e, true
		}
	}
	return Explanation{}, false
}
