package syntax

// Node is a part of a template. At is its line, from 1.
type Node interface{ At() int }

// Line is embedded in every node.
type Line int

// At returns the line.
func (l Line) At() int { return int(l) }

// Expressions.
type (
	// Const is a literal: nil, bool, int64, float64 or string.
	Const struct {
		Line
		Value any
	}
	// Name is a variable, read or written.
	Name struct {
		Line
		Name string
	}
	// NSRef is an attribute of a namespace, written.
	NSRef struct {
		Line
		Name, Attr string
	}
	// Tuple is (a, b), and what a loop or an assignment unpacks into.
	Tuple struct {
		Line
		Items []Node
	}
	// List is [a, b].
	List struct {
		Line
		Items []Node
	}
	// Dict is {k: v}.
	Dict struct {
		Line
		Keys, Values []Node
	}
	// Cond is a if test else b; Else may be nil.
	Cond struct {
		Line
		Test, Then, Else Node
	}
	// Logic is "and" or "or".
	Logic struct {
		Line
		Op          string
		Left, Right Node
	}
	// Not is a negation.
	Not struct {
		Line
		Expr Node
	}
	// Compare is a chain a < b <= c.
	Compare struct {
		Line
		Expr     Node
		Ops      []string // == != < <= > >= in notin
		Operands []Node
	}
	// Binary is one of + - * / // % **.
	Binary struct {
		Line
		Op          string
		Left, Right Node
	}
	// Unary is + or -.
	Unary struct {
		Line
		Op   string
		Expr Node
	}
	// Concat is a ~ b ~ c.
	Concat struct {
		Line
		Items []Node
	}
	// GetAttr is a.name.
	GetAttr struct {
		Line
		Expr Node
		Name string
	}
	// GetItem is a[key].
	GetItem struct {
		Line
		Expr, Key Node
	}
	// Slice is start:stop:step as a key; each may be nil.
	Slice struct {
		Line
		Start, Stop, Step Node
	}
	// Call is f(…).
	Call struct {
		Line
		Fn Node
		Args
	}
	// Filter is expr | name(…); Expr is nil for the body of a block.
	Filter struct {
		Line
		Expr Node
		Name string
		Args
	}
	// Test is expr is name(…).
	Test struct {
		Line
		Expr Node
		Name string
		Args
	}
)

// Args are the arguments of a call.
type Args struct {
	Pos     []Node
	Kw      []Keyword
	Star    Node // *args
	StarMap Node // **kwargs
}

// Keyword is an argument given by name.
type Keyword struct {
	Name  string
	Value Node
}

// Statements.
type (
	// Data is text as it stands.
	Data struct {
		Line
		Text string
	}
	// Output prints an expression.
	Output struct {
		Line
		Expr Node
	}
	// If runs the body of the first true branch.
	If struct {
		Line
		Branches []Branch
		Else     []Node
	}
	// For runs its body for each item.
	For struct {
		Line
		Target     Node
		Iter, Cond Node // Cond may be nil
		Recursive  bool
		Body, Else []Node
	}
	// Set assigns a value.
	Set struct {
		Line
		Target, Value Node
	}
	// SetBlock assigns what its body prints, through Filter if there is one.
	SetBlock struct {
		Line
		Target Node
		Filter Node
		Body   []Node
	}
	// Macro defines a function that prints.
	Macro struct {
		Line
		Name string
		Signature
		Body []Node
	}
	// CallBlock calls a macro that may call the body back as caller().
	CallBlock struct {
		Line
		Signature
		Call *Call
		Body []Node
	}
	// FilterBlock prints its body through a filter.
	FilterBlock struct {
		Line
		Filter Node
		Body   []Node
	}
	// With runs its body with variables of its own.
	With struct {
		Line
		Targets, Values []Node
		Body            []Node
	}
	// Scope runs its body with a scope of its own: blocks and generation tags.
	Scope struct {
		Line
		Root bool // sees the template's own variables only
		Body []Node
	}
	// Break and Continue control the innermost loop.
	Break    struct{ Line }
	Continue struct{ Line }
)

// Branch is one condition of an If.
type Branch struct {
	Test Node
	Body []Node
}

// Signature are the parameters of a macro; the last len(Defaults) of them have defaults.
type Signature struct {
	Params   []string
	Defaults []Node
}
