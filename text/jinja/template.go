package jinja

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/text/jinja/py"
	"github.com/graphrun/graphrun/text/jinja/syntax"
	"github.com/graphrun/graphrun/text/ordered"
)

// Template is a parsed template. It is safe for use by several goroutines.
type Template struct {
	body []syntax.Node
}

// Error is a failure at a line of the template. Raised tells a message of the template's own (raise_exception) from a
// mistake in it.
type Error struct {
	Line    int
	Message string
	Raised  bool
}

func (e *Error) Error() string {
	if e.Raised {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Parse reads a template. An error is an *Error.
func Parse(source string) (*Template, error) {
	body, err := syntax.Parse(source)
	if err != nil {
		var s *syntax.Error
		if errors.As(err, &s) {
			return nil, &Error{Line: s.Line, Message: s.Message}
		}
		return nil, err
	}
	return &Template{body}, check(body)
}

// check refuses filters and tests that do not exist, as Jinja does when it compiles: outside of conditions.
func check(body []syntax.Node) error {
	var failed *Error
	syntax.Walk(body, false, func(n syntax.Node, soft bool) {
		message := ""
		switch n := n.(type) {
		case *syntax.Filter:
			if !isFilter(n.Name) {
				message = fmt.Sprintf("No filter named '%s'.", n.Name)
			}
		case *syntax.Test:
			if !isTest(n.Name) {
				message = fmt.Sprintf("No test named '%s'.", n.Name)
			}
		}
		if message != "" && !soft && failed == nil {
			failed = &Error{Line: n.At(), Message: message}
		}
	})
	if failed != nil {
		return failed
	}
	return nil
}

// Options are the surroundings of a rendering.
type Options struct {
	Now   func() time.Time // for strftime_now; time.Now if nil
	Steps int64            // the budget; 0 for the default of 20 million, about a second or two
}

const defaultSteps = 20_000_000

// Render runs the template with the variables. Their values are of the kinds of package ordered. An error is an *Error.
func (t *Template) Render(variables *ordered.Object, opts Options) (string, error) {
	r := &run{out: &strings.Builder{}, now: opts.Now, steps: opts.Steps}
	if r.now == nil {
		r.now = time.Now
	}
	if r.steps == 0 {
		r.steps = defaultSteps
	}
	root := &scope{}
	for name, v := range variables.All() {
		root.set(name, py.From(v))
	}
	r.root = root
	if err := r.exec(t.body, root); err != nil {
		return "", located(err, 1)
	}
	return r.out.String(), nil
}

// located gives an error a line unless it has one.
func located(err error, line int) error {
	var e *Error
	if errors.Is(err, errBreak) || errors.Is(err, errContinue) {
		return err
	}
	if !errors.As(err, &e) {
		return &Error{Line: line, Message: err.Error()}
	}
	if e.Line == 0 {
		e.Line = line
	}
	return err
}
