// Package syntax turns the nodes of a graph file into typed documents: which keys there are, what shape their values
// have. It knows the language's grammar and no names: whether an operator, a port or a value of some name exists is
// the composer's question.
package syntax

import (
	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

// Word is a name with its place.
type Word struct {
	Text string
	At   diag.Range
}

// Expr stands in an expression's place: a scalar, or a list or map of expressions. Nil where the key is absent.
type Expr struct {
	Node *yaml.Node
	File *source.File
}

// At is where the expression stands.
func (e *Expr) At() diag.Range { return e.File.Range(e.Node) }

// Template is literal text with {expressions}.
type Template struct {
	Text string
	Node *yaml.Node
	File *source.File
}

// At is where the template stands.
func (t *Template) At() diag.Range { return t.File.Range(t.Node) }

// Document is one graph file.
type Document struct {
	File    *source.File
	Kind    string // model, block, variant, rules
	KindAt  diag.Range
	Name    Word
	Doc     string
	Imports []Word

	Params     []Param
	Recognises *Expr
	Extends    *Word
	View       []ViewStep
	Compiled   *Word
	Body                    // of a block, or of a model's text entry
	In         []Input      // of a block; of a model's text entry where stated
	Out        []Output     // likewise
	Entries    []*Entry     // further entries of a model
	Examples   []*yaml.Node // paths, or maps of facts
	Variant    *Variant     // of a variant
	Rules      *Rules       // of a rules file

	keys map[string]bool
}

// Has tells whether the document says a key.
func (d *Document) Has(key string) bool { return d.keys[key] }

// Body is what declares names and lists nodes.
type Body struct {
	Let     []Let
	Ports   []Port
	Groups  []Group
	Weights []Weight
	States  []State
	Nodes   []Node
	NodesAt diag.Range
}

// Entry is one more graph over a model's paths.
type Entry struct {
	Name     Word
	Of       *Word
	Requires *Expr
	Body
	In  []Input
	Out []Output
}

// Let is a name for an expression.
type Let struct {
	Name  Word
	Value *Expr
}

// Param is a parameter of a block or model.
type Param struct {
	Name    Word
	Type    Word
	Default *Expr // nil: must be given
}

// Input is an input of a block or entry.
type Input struct {
	Name     Word
	Dims     []*Expr
	Dtype    *Word
	Optional bool
}

// Output is a result of a block or entry.
type Output struct {
	Name     Word
	Dims     []*Expr
	Dtype    *Word
	Optional bool
}

// Port declares a port.
type Port struct {
	Name       Word
	Kind       Word
	Dims       []*Expr
	At         *Template
	Bias       *Expr
	Count      *Expr
	Tied       *Template
	WhenTied   *Expr
	Activation []Activation
	Parts      []Part
}

// Group names ports that are called on one value.
type Group struct {
	Name    Word
	Members []Word
}

// Activation is one choice of an activation.
type Activation struct {
	Name Word
	Args []Arg
	When *Expr
}

// Part names the tensor of a role.
type Part struct{ Role, Name Word }

// Weight declares a weight that is used as a plain operand.
type Weight struct {
	Name     Word
	Dims     []*Expr
	Dtype    *Word
	When     *Expr
	Optional bool
}

// State declares a state.
type State struct {
	Name   Word
	Kind   Word
	Fields []Arg   // of a cache
	Dims   []*Expr // of an array
	Dtype  *Word
}

// Node is one line of a body: results and what gives them.
type Node struct {
	Results []Word
	Alias   *Word // `y: x`
	Call    *Call // otherwise
	At      diag.Range
}

// Call is a call of a port, an operator, a block, or an anonymous body.
type Call struct {
	Callee    Word  // empty: anonymous
	Input     *Expr // the callee's value; nil: none given
	Args      []Arg // in order, without reserved keys
	Anonymous *Body

	Path    *Template // `at`
	When    *Expr
	Unless  *Expr
	Repeat  *Repeat
	Collect []Pair
	State   *Word  // the name of the state that is used …
	States  []Bind // … or paths for the inner states of a block
	Doc     string
	Range   diag.Range
}

// Arg is a named argument; a nil Value takes what has its name in scope.
type Arg struct {
	Name  Word
	Value *Expr
}

// Pair is `taps: h`.
type Pair struct{ Name, Value Word }

// Bind maps an inner state to a path.
type Bind struct {
	Name Word
	Path *Template
}

// Repeat is `{i: layers}` or `{i: [first, stop]}`.
type Repeat struct {
	Index Word
	First *Expr // nil: 0
	Stop  *Expr
}

// ViewStep is one step of a view.
type ViewStep struct {
	Verb     Word
	Patterns []Word
	When     *Expr
	Keys     []Arg // the others
	At       diag.Range
}

// Key finds another key of a step, or nil.
func (s *ViewStep) Key(name string) *Arg {
	for i := range s.Keys {
		if s.Keys[i].Name.Text == name {
			return &s.Keys[i]
		}
	}
	return nil
}
