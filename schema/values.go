package schema

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/schema/reference"
)

// Patterns of names. A name of the language is an identifier; ports and weights may be paths.
const (
	identifier = `^[A-Za-z_][A-Za-z0-9_]*$`
	pathName   = `^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$`
	results    = `^ *[A-Za-z_][A-Za-z0-9_]*( *, *[A-Za-z_][A-Za-z0-9_]*)* *$`
	bound      = `0*[1-9][0-9]*|[A-Za-z_][A-Za-z0-9_]*`
	rowRange   = `^(else| *(` + bound + `) *(\.\. *(` + bound + `)? *)?)$`
)

// reservedNames cannot be declared: CEL's own words and the language's.
var reservedNames = strings.Fields("true false null in as break const continue else for function if import let loop package namespace " +
	"return var void while B T S config tensors given")

// reservedKeys are keys of every call, so no parameter has their names.
var reservedKeys = []string{"at", "when", "unless", "repeat", "collect", "state", "doc"}

// The types of a parameter, and what they accept: a value of the type, or text that is an expression for one.
var paramTypes = []struct{ name, doc string }{
	{"int", "a whole number, or an expression for one"},
	{"float", "a number, or an expression for one"},
	{"bool", "true or false, or an expression for one"},
	{"string", "text, in which {expression} is replaced"},
	{"map", "a map, or an expression for one"},
	{"dims", "a list of lengths: numbers, expressions, linear forms of B, T and S"},
	{"ints", "a list of whole numbers, or an expression for one"},
	{"floats", "a list of numbers, or an expression for one"},
	{"bools", "a list of booleans, or an expression for one"},
	{"strings", "a list of texts, or an expression for one"},
}

// typed is what a value of a type is written as.
func typed(typ string) *Schema {
	s := accepted(typ)
	switch typ {
	case "dtype":
	case "string":
		s.Place = Template
	default:
		s.Place = Expression
	}
	return s
}

func accepted(typ string) *Schema {
	switch typ {
	case "int":
		return &Schema{Type: Types{"integer", "string"}}
	case "float":
		return &Schema{Type: Types{"number", "string"}}
	case "bool":
		return &Schema{Type: Types{"boolean", "string"}}
	case "string":
		return &Schema{Type: Types{"string", "number", "boolean"}}
	case "map":
		return &Schema{Type: Types{"object", "string"}}
	case "dims":
		return &Schema{Type: Types{"array", "string"}, Items: typed("int")}
	case "ints":
		return &Schema{Type: Types{"array", "string"}, Items: typed("int")}
	case "floats":
		return &Schema{Type: Types{"array", "string"}, Items: typed("float")}
	case "bools":
		return &Schema{Type: Types{"array", "string"}, Items: typed("bool")}
	case "strings":
		return &Schema{Type: Types{"array", "string"}, Items: &Schema{Type: Types{"string"}}}
	case "dtype":
		return words(dtype.Names())
	}
	return &Schema{}
}

// param describes a parameter at a call. A key without a value takes the value of that name in scope, except a dtype.
func param(p reference.Item) *Schema {
	if p.Type == "class" {
		return described("class.one", strings.TrimSpace(fmt.Sprintf("%s (%s, %s)", sentence(p.Doc), p.Type, p.Presence())))
	}
	s := typed(p.Type)
	if p.Type != "dtype" {
		s.Type = append(s.Type, "null")
	}
	if len(p.OneOf) > 0 { // one of these, or a template for one
		s.AnyOf = []*Schema{words(p.OneOf), {Pattern: `\{`}}
		s.Type = Types{"string", "null"}
	}
	s.Description = strings.TrimSpace(fmt.Sprintf("%s (%s, %s)", sentence(p.Doc), p.Type, p.Presence()))
	s.Default = p.DefaultJSON()
	return s
}

// sentence ends a text with a full stop and begins it with a capital where it begins with a plain word.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".:;!?") {
		return text
	}
	return text + "."
}

func words(list []string) *Schema {
	s := &Schema{}
	for _, w := range list {
		s.Enum = append(s.Enum, w)
	}
	return s
}

// The small vocabulary that the rest is written in.

// at says what text means there, also in a list.
func (s *Schema) at(p Place) *Schema {
	s.Place = p
	if s.Items != nil && s.Items.Ref == "" {
		s.Items.Place = p
	}
	return s
}

func text(doc string) *Schema {
	return &Schema{Description: doc, Type: Types{"string"}}
}

func truth(doc string) *Schema {
	return &Schema{Description: doc, Type: Types{"boolean"}}
}

func expression(doc, typ string) *Schema {
	s := typed(typ)
	s.Description = doc
	return s
}

func oneOf(doc string, list ...string) *Schema {
	s := words(list)
	s.Description = doc
	return s
}

func textOrList(doc string) *Schema {
	return &Schema{Description: doc, Type: Types{"string", "array"}, Items: &Schema{Type: Types{"string"}}}
}

func list(doc string, item *Schema) *Schema {
	return &Schema{Description: doc, Type: Types{"array"}, Items: item}
}

// closed is an object with these keys and no other.
func closed(doc string, keys ...Property) *Schema {
	return &Schema{Description: doc, Type: Types{"object"}, Properties: keys, AdditionalProperties: false}
}

// named is an object of names that the file chooses.
func named(doc, pattern string, value *Schema) *Schema {
	return &Schema{Description: doc, Type: Types{"object"}, PropertyNames: &Schema{Pattern: pattern}, AdditionalProperties: value}
}

// or lets a value be of further types, beside the object or list that s describes.
func (s *Schema) or(types ...string) *Schema {
	s.Type = append(s.Type, types...)
	return s
}

// orWord lets a value also be one of a list of words.
func (s *Schema) orWord(list []string) *Schema {
	s.Type = append(s.Type, "string")
	s.If, s.Then = &Schema{Type: Types{"string"}}, words(list)
	return s
}

// declared is an object of names that may not be reserved.
func declared(doc string, value *Schema) *Schema {
	s := named(doc, identifier, value)
	s.PropertyNames.Not = words(reservedNames)
	return s
}

func key(name string, s *Schema) Property { return Property{name, s} }

func ref(name string) *Schema { return &Schema{Ref: "#/$defs/" + name} }

// described is a reference with a text of its own.
func described(name, doc string) *Schema { return &Schema{Ref: "#/$defs/" + name, Description: doc} }

func (s *Schema) require(names ...string) *Schema {
	s.Required = append(s.Required, names...)
	return s
}

// when is a schema that holds for objects with a key.
func when(name string, then *Schema) *Schema {
	return &Schema{If: &Schema{Type: Types{"object"}, Required: []string{name}}, Then: then}
}
