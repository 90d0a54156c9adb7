// Package diag is how graphrun tells a person what is wrong with a file: a stable code, a place, the reason, every
// other place that has a part in it, and the nearest right answer. It knows nothing of what it reports.
package diag

import (
	"fmt"
	"slices"
	"sort"
)

// Severity orders diagnostics by weight.
type Severity uint8

const (
	Error Severity = iota
	Warning
	Note
)

func (s Severity) String() string { return [...]string{"error", "warning", "note"}[s] }

// MarshalText writes the word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Range is a stretch of a file. Lines and columns count from 1, columns in characters; EndCol is one past the last.
// The zero Range is no place at all.
type Range struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	EndLine int    `json:"endLine"`
	EndCol  int    `json:"endCol"`
}

// IsZero tells whether r is no place.
func (r Range) IsZero() bool { return r.File == "" }

// String is file:line:col, or the file alone where no line is known.
func (r Range) String() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d:%d", r.File, r.Line, r.Col)
}

// Related is another place with a part in a diagnostic.
type Related struct {
	Message string `json:"message"`
	At      Range  `json:"at"`
}

// Diagnostic is one finding.
type Diagnostic struct {
	Code     string    `json:"code"`
	Severity Severity  `json:"severity"`
	Message  string    `json:"message"`
	At       Range     `json:"at"`
	Path     string    `json:"path,omitempty"` // where in the graph: model.layers.3.self_attn
	Related  []Related `json:"related,omitempty"`
	Help     []string  `json:"help,omitempty"`
}

// Because adds a related place.
func (d *Diagnostic) Because(at Range, format string, args ...any) *Diagnostic {
	d.Related = append(d.Related, Related{fmt.Sprintf(format, args...), at})
	return d
}

// Helped adds advice.
func (d *Diagnostic) Helped(format string, args ...any) *Diagnostic {
	d.Help = append(d.Help, fmt.Sprintf(format, args...))
	return d
}

// Among advises on an unknown word: what it most likely meant, else which words there are.
func (d *Diagnostic) Among(word string, names []string, what string) *Diagnostic {
	if help := Among(word, names, what); help != "" {
		d.Helped("%s", help)
	}
	return d
}

// In says where in the graph.
func (d *Diagnostic) In(path string) *Diagnostic {
	d.Path = path
	return d
}

// Error lets a diagnostic travel as an error.
func (d *Diagnostic) Error() string {
	return fmt.Sprintf("%s: %s[%s]: %s", d.At, d.Severity, d.Code, d.Message)
}

// List collects diagnostics. What is said twice of one place, as in each pass of a repeat, is kept once.
type List struct {
	all  []*Diagnostic
	seen map[string]*Diagnostic
}

// Add makes a diagnostic and keeps it; the one returned can still be added to.
func (l *List) Add(severity Severity, code string, at Range, format string, args ...any) *Diagnostic {
	return l.Put(&Diagnostic{Code: code, Severity: severity, At: at, Message: fmt.Sprintf(format, args...)})
}

// Errorf adds an error.
func (l *List) Errorf(code string, at Range, format string, args ...any) *Diagnostic {
	return l.Add(Error, code, at, format, args...)
}

// Warnf adds a warning.
func (l *List) Warnf(code string, at Range, format string, args ...any) *Diagnostic {
	return l.Add(Warning, code, at, format, args...)
}

// Put keeps a diagnostic made elsewhere. A repeat of one that is kept already is dropped.
func (l *List) Put(d *Diagnostic) *Diagnostic {
	key := d.Code + "\x00" + d.At.String() + "\x00" + d.Message
	if l.seen == nil {
		l.seen = map[string]*Diagnostic{}
	}
	if l.seen[key] == nil {
		l.seen[key] = d
		l.all = append(l.all, d)
	}
	return d
}

// Len is how many there are.
func (l *List) Len() int { return len(l.all) }

// HasErrors tells whether any is an error.
func (l *List) HasErrors() bool {
	for _, d := range l.all {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Errors is how many are errors.
func (l *List) Errors() int {
	n := 0
	for _, d := range l.all {
		if d.Severity == Error {
			n++
		}
	}
	return n
}

// In tells whether an error stands in a file.
func (l *List) In(file string) bool {
	for _, d := range l.all {
		if d.Severity == Error && d.At.File == file {
			return true
		}
	}
	return false
}

// Remove takes out those that which says.
func (l *List) Remove(which func(d *Diagnostic) bool) {
	l.all = slices.DeleteFunc(l.all, which)
}

// Sorted gives them by file, place and weight.
func (l *List) Sorted() []*Diagnostic {
	out := append([]*Diagnostic(nil), l.all...)
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		switch {
		case a.At.File != b.At.File:
			return a.At.File < b.At.File
		case a.At.Line != b.At.Line:
			return a.At.Line < b.At.Line
		case a.At.Col != b.At.Col:
			return a.At.Col < b.At.Col
		}
		return a.Severity < b.Severity
	})
	return out
}
