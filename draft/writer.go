package draft

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/compose/format"
	"github.com/graphrun/graphrun/diag"
)

// columns is where comments are broken.
const columns = 120

type writer struct{ b strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// comment writes a text as lines of comments.
func (w *writer) comment(text string) { w.wrapped("# ", "# ", text) }

// item writes a point of a list in comments.
func (w *writer) item(text string) { w.wrapped("# - ", "#   ", text) }

func (w *writer) wrapped(first, next, text string) {
	line := first
	for i, word := range strings.Fields(text) {
		if i > 0 && len(line)+1+len(word) > columns {
			w.line("%s", strings.TrimRight(line, " "))
			line = next
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	w.line("%s", strings.TrimRight(line, " "))
}

// formatted is the text in canonical form.
func (w *writer) formatted(name string) ([]byte, error) {
	var list diag.List
	out, err := format.Source(name, []byte(w.b.String()), &list)
	if err == nil && list.HasErrors() {
		err = list.Sorted()[0]
	}
	if err != nil {
		return nil, fmt.Errorf("the draft is no graph file: %w", err)
	}
	return out, nil
}
