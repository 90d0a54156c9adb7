package syntax

// Walk calls visit for every node below the list, parents first. soft is true inside conditions and the branches that
// they choose, where a mistake only counts when it is reached.
func Walk(list []Node, soft bool, visit func(n Node, soft bool)) {
	for _, n := range list {
		walk(n, soft, visit)
	}
}

func walk(n Node, soft bool, visit func(n Node, soft bool)) {
	switch n := n.(type) {
	case nil:
		return
	case *Slice:
		Walk([]Node{n.Start, n.Stop, n.Step}, soft, visit)
		return
	}
	visit(n, soft)
	inner := func(list ...Node) { Walk(list, soft, visit) }
	apart := func(list []Node) { Walk(list, false, visit) } // a scope of its own is not soft
	args := func(a Args) {
		inner(a.Pos...)
		for _, kw := range a.Kw {
			inner(kw.Value)
		}
		inner(a.Star, a.StarMap)
	}
	switch n := n.(type) {
	case *Tuple:
		inner(n.Items...)
	case *List:
		inner(n.Items...)
	case *Dict:
		inner(n.Keys...)
		inner(n.Values...)
	case *Cond:
		Walk([]Node{n.Test, n.Then, n.Else}, true, visit)
	case *Logic:
		inner(n.Left, n.Right)
	case *Not:
		inner(n.Expr)
	case *Compare:
		inner(n.Expr)
		inner(n.Operands...)
	case *Binary:
		inner(n.Left, n.Right)
	case *Unary:
		inner(n.Expr)
	case *Concat:
		inner(n.Items...)
	case *GetAttr:
		inner(n.Expr)
	case *GetItem:
		inner(n.Expr, n.Key)
	case *Call:
		inner(n.Fn)
		args(n.Args)
	case *Filter:
		inner(n.Expr)
		args(n.Args)
	case *Test:
		inner(n.Expr)
		args(n.Args)
	case *Output:
		inner(n.Expr)
	case *If:
		for _, b := range n.Branches {
			walk(b.Test, true, visit)
			Walk(b.Body, true, visit)
		}
		Walk(n.Else, true, visit)
	case *For:
		inner(n.Iter)
		apart([]Node{n.Cond})
		apart(n.Body)
		apart(n.Else)
	case *Set:
		inner(n.Value)
	case *SetBlock:
		inner(n.Filter)
		apart(n.Body)
	case *Macro:
		apart(n.Defaults)
		apart(n.Body)
	case *CallBlock:
		inner(n.Call)
		apart(n.Defaults)
		apart(n.Body)
	case *FilterBlock:
		inner(n.Filter)
		apart(n.Body)
	case *With:
		inner(n.Values...)
		apart(n.Body)
	case *Scope:
		apart(n.Body)
	}
}

// Uses reports which of the names are read in body, whether or not they are assigned there.
func Uses(body []Node, names ...string) map[string]bool {
	found := map[string]bool{}
	Walk(body, false, func(n Node, _ bool) {
		if name, ok := n.(*Name); ok {
			for _, want := range names {
				if name.Name == want {
					found[want] = true
				}
			}
		}
	})
	return found
}
