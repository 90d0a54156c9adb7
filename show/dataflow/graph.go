package dataflow

// Kind is what a node stands for.
type Kind string

const (
	Block    Kind = "block" // a block, an anonymous body or an entry: it has children
	Operator Kind = "operator"
	Port     Kind = "port"
	State    Kind = "state"
	Input    Kind = "input"  // of the block that holds it
	Output   Kind = "output" // of the block that holds it
)

// Graph is one model's picture.
type Graph struct {
	Name    string `json:"name"`
	Doc     string `json:"doc,omitempty"`
	Planned bool   `json:"planned"`         // made with a plan: what is not there is left out
	About   []Fact `json:"about,omitempty"` // of the whole: checkpoint, variants, hash
	Root    *Node  `json:"root"`
}

// Node is a box. ID is unique in the graph and the same for the same files.
type Node struct {
	ID       string   `json:"id"`
	Kind     Kind     `json:"kind"`
	Name     string   `json:"name"`              // operator, port, state, input; of a block where it is called
	Of       string   `json:"of,omitempty"`      // the block's name; kind and class of a port; kind of a state
	Types    []string `json:"types,omitempty"`   // of the results, or of the input
	Path     string   `json:"path,omitempty"`    // in the model, with * for the indices of repeats
	Times    string   `json:"times,omitempty"`   // of a repeat: "30", or the expression where there is no plan
	Share    string   `json:"share,omitempty"`   // "16 of 64" where not every index has it; the condition where there is no plan
	Carries  []string `json:"carries,omitempty"` // values that go from one index of a repeat to the next
	Facts    []Fact   `json:"facts,omitempty"`
	At       string   `json:"at,omitempty"` // file:line:col
	Children []*Node  `json:"children,omitempty"`
	Edges    []Edge   `json:"edges,omitempty"` // between children
}

// Fact is a line of what is known of a node.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Ref is a child, or an Input or Output inside a child that is a block.
type Ref struct {
	Node string `json:"node"`
	Pin  string `json:"pin,omitempty"`
}

// Edge leads a value from one child to another.
type Edge struct {
	From  Ref    `json:"from"`
	To    Ref    `json:"to"`
	Name  string `json:"name,omitempty"`  // of the value
	State bool   `json:"state,omitempty"` // a state and who uses it
	Maybe bool   `json:"maybe,omitempty"` // not at every index, or under a condition
}

// Walk calls f for every node, containers before what they hold.
func (n *Node) Walk(f func(n *Node, depth int)) { n.walk(f, 0) }

func (n *Node) walk(f func(*Node, int), depth int) {
	f(n, depth)
	for _, c := range n.Children {
		c.walk(f, depth+1)
	}
}

// Child finds a child by its id.
func (n *Node) Child(id string) *Node {
	for _, c := range n.Children {
		if c.ID == id {
			return c
		}
	}
	return nil
}
