package schema

import (
	"bytes"
	"encoding/json"
)

// Dialect is the version of JSON Schema that a document is written in.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is a schema or a part of one. The zero Schema accepts everything.
type Schema struct {
	Dialect     string `json:"$schema,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Ref         string `json:"$ref,omitempty"`

	Type    Types  `json:"type,omitempty"`
	Const   any    `json:"const,omitempty"`
	Enum    []any  `json:"enum,omitempty"`
	Pattern string `json:"pattern,omitempty"`
	Minimum *int   `json:"minimum,omitempty"`

	Properties           Properties `json:"properties,omitempty"`
	AdditionalProperties any        `json:"additionalProperties,omitempty"` // false or a *Schema
	PropertyNames        *Schema    `json:"propertyNames,omitempty"`
	Required             []string   `json:"required,omitempty"`
	MinProperties        int        `json:"minProperties,omitempty"`
	MaxProperties        int        `json:"maxProperties,omitempty"`

	Items       *Schema   `json:"items,omitempty"`
	PrefixItems []*Schema `json:"prefixItems,omitempty"`
	MinItems    int       `json:"minItems,omitempty"`
	MaxItems    int       `json:"maxItems,omitempty"`

	AllOf []*Schema `json:"allOf,omitempty"`
	AnyOf []*Schema `json:"anyOf,omitempty"`
	OneOf []*Schema `json:"oneOf,omitempty"`
	Not   *Schema   `json:"not,omitempty"`
	If    *Schema   `json:"if,omitempty"`
	Then  *Schema   `json:"then,omitempty"`
	Else  *Schema   `json:"else,omitempty"`

	Default  any   `json:"default,omitempty"`
	Examples []any `json:"examples,omitempty"`

	Defs Properties `json:"$defs,omitempty"`

	// Place is what text means here, for editors that know names; it is no part of the document.
	Place Place `json:"-"`
}

// Place is what text means where it stands.
type Place uint8

const (
	Plain      Place = iota // a word, a name that is chosen here, or free text
	Expression              // CEL
	Template                // text with {expressions}
	Name                    // of a value, weight, state or number in scope
	Pattern                 // of paths
	ClassName               // of the registry, or of `classes`
	ModelName
)

// Types are what a value may be; one is written without brackets.
type Types []string

// MarshalJSON writes a word, or a list of them.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// Property is a named schema.
type Property struct {
	Name   string
	Schema *Schema
}

// Properties are an object's keys in the order in which a file has them.
type Properties []Property

// MarshalJSON writes an object in this order.
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := encode(x.Name)
		if err != nil {
			return nil, err
		}
		value, err := encode(x.Schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Get finds a property, or nil.
func (p Properties) Get(name string) *Schema {
	for _, x := range p {
		if x.Name == name {
			return x.Schema
		}
	}
	return nil
}

// Names lists the properties.
func (p Properties) Names() []string {
	out := make([]string, len(p))
	for i, x := range p {
		out[i] = x.Name
	}
	return out
}

// JSON is the schema as a file of two-space indents.
func (s *Schema) JSON() ([]byte, error) {
	data, err := encode(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
