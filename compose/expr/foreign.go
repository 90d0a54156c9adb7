package expr

import (
	"fmt"
	"slices"
	"strings"
)

// token is a piece of an expression's text, by characters.
type token struct {
	text   string
	offset int
	word   bool // a name, a number or a text: what has a value
}

func (t token) length() int { return len([]rune(t.text)) }

// tokens cuts a text as an expression's reader would; open is where a quote begins that is never closed, or -1.
func tokens(src string) (out []token, open int) {
	runes := []rune(src)
	letter := func(r rune) bool { return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	for i := 0; i < len(runes); {
		start, r := i, runes[i]
		i++
		switch {
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			continue
		case letter(r) || digit(r):
			for i < len(runes) && (letter(runes[i]) || digit(runes[i]) || digit(r) && runes[i] == '.' && i+1 < len(runes) && digit(runes[i+1])) {
				i++
			}
			if digit(r) && (runes[i-1] == 'e' || runes[i-1] == 'E') && i+1 < len(runes) && (runes[i] == '-' || runes[i] == '+') && digit(runes[i+1]) {
				for i++; i < len(runes) && digit(runes[i]); i++ {
				}
			}
		case r == '\'' || r == '"':
			for i < len(runes) && runes[i] != r {
				if runes[i] == '\\' {
					i++
				}
				i++
			}
			if i >= len(runes) {
				return out, start
			}
			i++
		case i < len(runes) && slices.Contains([]string{"==", "!=", "<=", ">=", "&&", "||", "**", "//"}, string(runes[start:i+1])):
			i++
		}
		text := string(runes[start:min(i, len(runes))])
		out = append(out, token{text, start, letter(r) || digit(r) || r == '\'' || r == '"'})
	}
	return out, -1
}

// foreignWords are values of other languages with what an expression writes.
var foreignWords = map[string]string{"True": "true", "False": "false", "None": "null", "nil": "null", "NULL": "null", "nullptr": "null"}

// foreignSigns are operators of other languages with what an expression writes.
var foreignSigns = map[string]string{"and": "&&", "or": "||", "not": "!", "=": "==", "&": "&&", "|": "||", "is": "==", "**": "pow(base, exponent)", "//": "/",
	"if": "condition ? yes : no", "else": "condition ? yes : no"}

// foreign finds an operator of another language, Python's above all, and says how an expression writes it; nil: there is
// none.
func (e *Engine) foreign(list []token) *Error {
	for i, t := range list {
		if foreignSigns[t.text] != "" && (i == 0 || list[i-1].text != ".") {
			return e.foreignAt(list, i)
		}
	}
	return nil
}

// comment refuses CEL's comments: what an author writes as `hidden // heads` would be `hidden`. nil: there is none.
func (e *Engine) comment(src string) *Error {
	if !strings.Contains(src, "//") {
		return nil
	}
	list, _ := tokens(src)
	for i := range list {
		if list[i].text == "//" {
			return e.foreignAt(list, i)
		}
	}
	return nil
}

func (e *Engine) foreignAt(list []token, i int) *Error {
	t := list[i]
	own := foreignSigns[t.text]
	out := &Error{Code: "expression-syntax", Offset: t.offset, Length: t.length(), Message: fmt.Sprintf("expressions have no `%s`: it is written `%s`", t.text, own)}
	if t.text == "//" {
		out.Message = "`//` begins a comment in CEL, and expressions have none: `/` of two ints is integer division, an inexact one an error"
	}
	if whole := ownText(list); e.reads(whole) {
		own = whole
	}
	out.Help = "write `" + own + "`"
	return out
}

// ownText writes tokens as an expression of the language.
func ownText(list []token) string {
	depth, ifAt := 0, -1
	for i, t := range list {
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ",":
			if depth == 0 {
				return ownText(list[:i]) + ", " + ownText(list[i+1:])
			}
		case "if":
			if depth == 0 && ifAt < 0 {
				ifAt = i
			}
		case "else":
			if depth == 0 && ifAt > 0 {
				return ownText(list[ifAt+1:i]) + " ? " + ownText(list[:ifAt]) + " : " + ownText(list[i+1:])
			}
		}
	}
	for _, sign := range []string{"or", "and"} { // what binds least first
		if i := outside(list, sign); i > 0 {
			return ownText(list[:i]) + " " + foreignSigns[sign] + " " + ownText(list[i+1:])
		}
	}
	if len(list) > 1 && list[0].text == "not" {
		rest := ownText(list[1:])
		if slices.ContainsFunc(list[1:], func(t token) bool { return slices.Contains(comparisons, t.text) }) {
			rest = "(" + rest + ")"
		}
		return "!" + rest
	}
	if i := outside(list, "not"); i > 0 && i+1 < len(list) && list[i+1].text == "in" {
		return "!(" + ownText(list[:i]) + " in " + ownText(list[i+2:]) + ")"
	}
	return plainText(list)
}

var comparisons = []string{"==", "=", "!=", "<", "<=", ">", ">=", "in", "is"}

// outside is where a sign stands that is in no brackets; -1: nowhere.
func outside(list []token, sign string) int {
	depth := 0
	for i, t := range list {
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case sign:
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// plainText joins tokens, those in brackets as expressions of their own.
func plainText(list []token) string {
	var b strings.Builder
	for i := 0; i < len(list); i++ {
		t := list[i]
		if i > 0 && spaced(list[i-1], t) {
			b.WriteByte(' ')
		}
		if t.text == "(" || t.text == "[" {
			if end := closing(list, i); end > i+1 {
				b.WriteString(t.text + ownText(list[i+1:end]) + list[end].text)
				i = end
				continue
			}
		}
		if i+2 < len(list) && list[i+1].text == "**" && t.word && list[i+2].word {
			fmt.Fprintf(&b, "pow(%s, %s)", t.text, list[i+2].text)
			i += 2
			continue
		}
		switch own := foreignSigns[t.text]; {
		case foreignWords[t.text] != "":
			b.WriteString(foreignWords[t.text])
		case own != "" && t.text != "if" && t.text != "else" && t.text != "**" && t.text != "not":
			b.WriteString(own)
		default:
			b.WriteString(t.text)
		}
	}
	return b.String()
}

// closing is where the bracket that opens at a place is closed; -1: nowhere.
func closing(list []token, at int) int {
	depth := 0
	for i := at; i < len(list); i++ {
		switch list[i].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// spaced tells whether a space stands between two tokens.
func spaced(a, b token) bool {
	switch {
	case strings.Contains(".)],", b.text) || strings.Contains(".([!", a.text):
		return false
	case b.text == "(" || b.text == "[":
		return !a.word && a.text != ")" && a.text != "]"
	}
	return true
}
