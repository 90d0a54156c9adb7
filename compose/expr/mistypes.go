package expr

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/graphrun/graphrun/diag"
)

var overload = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`found no matching overload for '([^']*)' applied to '(.*)'`)
})

// signs are how operators are written.
var signs = map[string]string{"_==_": "==", "_!=_": "!=", "_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=",
	"_&&_": "&&", "_||_": "||", "!_": "!", "_?_:_": "? :", "@in": "in", "-_": "-", "_[_]": "[ ]"}

// typeError says in the language's words what CEL's checker refuses.
func (e *Engine) typeError(p *parsed, of []*Type, issues *cel.Issues) *Error {
	first := issues.Errors()[0]
	offset := offsetOf(p.src, first.Location.Line(), first.Location.Column())
	out := &Error{Code: "expression-type", Offset: offset, Message: first.Message}
	quoted := strings.Split(first.Message, "'")
	switch {
	case strings.HasPrefix(first.Message, "undeclared reference to"):
		return unknownFunction(quoted[1], offset)
	case strings.HasPrefix(first.Message, "undefined field"):
		return unknownField(p, of, quoted[1], offset)
	}
	if strings.HasPrefix(first.Message, "expected type") && len(quoted) > 3 {
		out.Message = fmt.Sprintf("a %s is wanted here; this is of type %s", ownTypes(quoted[1]), ownTypes(quoted[3]))
		if quoted[1] == "bool" {
			out.Help = condition
		}
		return out
	}
	if strings.HasSuffix(first.Message, "does not support field selection") && len(quoted) > 1 {
		out.Message = fmt.Sprintf("a %s has no fields", ownTypes(quoted[1]))
		if strings.HasPrefix(quoted[1], "list") {
			out.Message, out.Help = "a list has no fields", "ask its members, as in `list.all(x, x.storage == 'dense')`, or one of them, as in `list[0].storage`"
		}
		return out
	}
	m := overload().FindStringSubmatch(first.Message)
	if m == nil {
		return out
	}
	name, args := m[1], ownTypes(m[2])
	sign, isSign := signs[name]
	if isSign {
		out.Message = fmt.Sprintf("%s does not take %s", sign, args)
		out.Help = mixed(sign, args)
		return out
	}
	target, rest, isMethod := strings.Cut(args, ".(")
	if isMethod {
		out.Message = fmt.Sprintf("%s of a %s does not take (%s", name, target, rest)
	} else {
		out.Message = fmt.Sprintf("%s does not take %s", name, args)
	}
	if all := e.signatures(name, target, isMethod); len(all) > 0 {
		out.Help = "it is called " + strings.Join(all, ", or ")
	}
	return out
}

// ownTypes writes CEL's types as graph files name them.
func ownTypes(args string) string {
	for _, r := range [][2]string{{"map(string, dyn)", "map"}, {"list(int)", "ints"}, {"list(double)", "floats"}, {"list(string)", "strings"}, {"list(bool)", "bools"}, {"double", "float"}} {
		args = strings.ReplaceAll(args, r[0], r[1])
	}
	return args
}

const condition = "a condition is wanted: compare a number or a text, as in `x > 0`, `x != ''`"

// mixed says what an operator wants instead of the types that it was given.
func mixed(sign, args string) string {
	has := func(t string) bool { return regexp.MustCompile(`\b` + t + `\b`).MatchString(args) }
	for kind := range records {
		if has(kind) && kind != "array" && kind != "tensor" {
			return fmt.Sprintf("%s is a record: ask one of its fields, as in `%s.%s`", kind, kind, map[string]string{"device": "kind", "weight": "storage", "port": "kind", "state": "scheme", "checkpoint": "format", "request": "kv"}[kind])
		}
	}
	switch sign {
	case "==", "!=", "in", "? :":
		switch {
		case sign == "in" && !has("list") && !strings.HasSuffix(args, "s)") && !has("map"):
			return "what stands behind `in` is a list, as in `x in ['a', 'b']`"
		case sign == "? :" && !strings.HasPrefix(args, "(bool"):
			return "what stands before ? is a condition: compare it, as in `x > 0 ? a : b`"
		case has("int") && has("float"):
			return fmt.Sprintf("the two sides of %s want one type: write 0.0 for 0", sign)
		case has("string"):
			return fmt.Sprintf("the two sides of %s want one type: a text stands in quotes, a number in none", sign)
		}
		return fmt.Sprintf("the two sides of %s want one type", sign)
	case "&&", "||", "!":
		return condition
	case "+":
		if has("string") {
			return "a template puts values into text: '{name}'"
		}
	case "[ ]":
		return "a list takes an index: `list[i]`; config.json's keys are read with `config.int('key')`"
	case "<", "<=", ">", ">=":
		return "numbers are compared with numbers"
	}
	return sign + " takes numbers"
}

// signatures are the ways in which a function may be called, or one of a target's.
func (e *Engine) signatures(name, target string, method bool) []string {
	f := e.base.Functions()[name]
	if f == nil {
		return nil
	}
	var out []string
	for _, o := range f.OverloadDecls() {
		var args []string
		for _, a := range o.ArgTypes() {
			args = append(args, TypeName(a))
		}
		if o.IsMemberFunction() != method || method && args[0] != target || strings.Contains(strings.Join(args, " "), "google") {
			continue
		}
		text := ""
		if o.IsMemberFunction() {
			if text, args = args[0]+".", args[1:]; text == "map." {
				text = "config."
			}
		}
		if text += name + "(" + strings.Join(args, ", ") + ")"; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out[:min(len(out), 4)]
}

// unknownField lists the fields of what the name before the dot is, where that is known.
func unknownField(p *parsed, of []*Type, name string, offset int) *Error {
	e := &Error{Code: "unknown-field", Offset: offset, Length: len([]rune(name)), Message: fmt.Sprintf("there is no field %s here", name)}
	list, _ := tokens(p.src)
	for i := 1; i+1 < len(list); i++ {
		if list[i].text != "." || list[i+1].text != name {
			continue
		}
		e.Offset = list[i+1].offset
		for k, u := range p.names {
			if u.name == list[i-1].text {
				var fields []string
				for f := range fieldsOf(of[k].TypeName()) {
					fields = append(fields, f)
				}
				e.Message = fmt.Sprintf("%s has no field %s", u.name, name)
				e.Help = diag.Among(name, fields, "its fields")
				for _, other := range []string{"port", "weight", "state", "device", "request", "checkpoint"} {
					if records[other][name] != nil && u.name != other && !strings.HasPrefix(e.Help, "did you mean") {
						e.Help = "it is asked of " + other + ": `" + other + "." + name + "`"
						break
					}
				}
				return e
			}
		}
	}
	e.Help = diag.DidYouMean(name, allFields())
	return e
}
