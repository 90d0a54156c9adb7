package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/graphrun/graphrun/diag"
)

// reads tells whether a text can be read as an expression.
func (e *Engine) reads(src string) bool {
	_, issues := e.base.Parse(src)
	return issues.Err() == nil
}

// syntaxError says in the language's words why CEL's parser stopped.
func (e *Engine) syntaxError(src string, issues *cel.Issues) *Error {
	list, open := tokens(src)
	if open >= 0 {
		return &Error{Code: "expression-syntax", Offset: open, Message: "this quote is never closed", Help: "close it; a quote inside the text is of the other kind: \"it's\""}
	}
	if err := e.foreign(list); err != nil {
		return err
	}
	if err := unbalanced(list); err != nil {
		return err
	}
	first := issues.Errors()[0]
	out := &Error{Code: "expression-syntax", Offset: offsetOf(src, first.Location.Line(), first.Location.Column())}
	if strings.Contains(first.Message, "'<EOF>'") && len(list) > 0 {
		last := list[len(list)-1]
		out.Offset, out.Length, out.Message = last.offset, last.length(), "the expression ends too early"
		out.Help = fmt.Sprintf("write what `%s` is applied to, or leave it out", last.text)
		return out
	}
	for i, t := range list {
		if t.offset != out.Offset {
			continue
		}
		out.Length, out.Message = t.length(), fmt.Sprintf("`%s` cannot stand here", t.text)
		switch {
		case reserved[t.text]:
			out.Message = fmt.Sprintf("%s is a word of CEL and no name", t.text)
			out.Help = "give what it stands for another name"
		case i > 0 && t.word && (list[i-1].word || list[i-1].text == ")" || list[i-1].text == "]"):
			out.Help = fmt.Sprintf("an operator is missing between `%s` and `%s`", list[i-1].text, t.text)
		case i > 0 && !t.word && !list[i-1].word:
			out.Help = fmt.Sprintf("a value is missing between `%s` and `%s`", list[i-1].text, t.text)
		case i == 0:
			out.Help = fmt.Sprintf("an expression cannot begin with `%s`", t.text)
		}
		return out
	}
	out.Message = strings.TrimPrefix(first.Message, "Syntax error: ")
	if i := strings.Index(out.Message, " expecting "); i > 0 {
		out.Message = out.Message[:i]
	}
	return out
}

// unknownName says that a name stands for nothing here, and what does.
func unknownName(u use, s Scope) *Error {
	u.name = strings.TrimPrefix(u.name, ".") // CEL's way to name what is outside
	e := &Error{Code: "unknown-name", Offset: u.offset, Length: len([]rune(u.name)), Message: fmt.Sprintf("%s is not a name here", u.name)}
	if w, ok := s.(Witness); ok {
		if message, help := w.Known(u.name); message != "" {
			e.Message, e.Help = message, help
			return e
		}
	}
	switch own := foreignWords[u.name]; {
	case own == "null":
		e.Help = "write `null`; whether config.json has a key: `config.has('key')`"
	case own != "":
		e.Help = "did you mean " + own + "?"
	case u.name == "math":
		e.Help = "functions stand alone: `sqrt(x)`, `pow(x, y)`, `floor(x)`"
	default:
		e.Help = diag.Among(u.name, s.Names(), "names here")
	}
	return e
}

// calledOtherwise are functions of other languages with what an expression calls.
var calledOtherwise = map[string]string{"len": "size(list)", "str": "a template: '{value}'", "range": "lists.range(n)", "round": "floor(x + 0.5)", "any": "list.exists(x, condition)", "get": "config.int('key', default)",
	"isinstance": "config.has('key')", "hasattr": "config.has('key')", "getattr": "config.int('key', default)", "defined": "given.name"}

// functionNames are what a misspelt function may have meant.
var functionNames = []string{"int", "float", "bool", "string", "dict", "ints", "floats", "strings", "bools", "has", "is_null", "min", "max", "abs",
	"pow", "log", "sqrt", "floor", "ceil", "size", "tensors", "all", "exists", "exists_one", "filter", "map", "startsWith", "endsWith", "contains",
	"matches", "replace", "split", "join", "lowerAscii", "reverse", "range", "sort", "distinct", "flatten", "slice", "first", "last", "at", "memory"}

// unknownFunction says that there is no such function, and which there are.
func unknownFunction(name string, offset int) *Error {
	e := &Error{Code: "unknown-function", Offset: offset, Message: fmt.Sprintf("there is no function %s", name)}
	if own := calledOtherwise[name]; own != "" {
		e.Help = "write " + own
		return e
	}
	if slices.Contains(allFields(), name) {
		e.Help = fmt.Sprintf("%s is a field: leave out the parentheses", name)
		return e
	}
	e.Help = diag.Among(name, functionNames, "functions")
	return e
}

// unbalanced finds a bracket without its partner; nil: all have one.
func unbalanced(list []token) *Error {
	pairs := map[string]string{"(": ")", "[": "]", "{": "}"}
	var open []token
	fail := func(t token, format string, args ...any) *Error {
		return &Error{Code: "expression-syntax", Offset: t.offset, Length: 1, Message: fmt.Sprintf(format, args...)}
	}
	for _, t := range list {
		switch t.text {
		case "(", "[", "{":
			open = append(open, t)
		case ")", "]", "}":
			if len(open) == 0 {
				e := fail(t, "this `%s` closes nothing", t.text)
				e.Help = "remove it, or open it before"
				return e
			}
			last := open[len(open)-1]
			if open = open[:len(open)-1]; pairs[last.text] != t.text {
				e := fail(t, "this `%s` does not close the `%s` before it", t.text, last.text)
				e.Help = "write `" + pairs[last.text] + "`"
				return e
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	last := open[len(open)-1]
	e := fail(last, "this `%s` is never closed", last.text)
	e.Help = "write `" + pairs[last.text] + "` where it ends"
	return e
}
