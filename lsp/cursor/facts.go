package cursor

import "strings"

// Words are the functions and facts that a place's expressions know: by their names, or behind the dot of an owner.
func (p *Place) Words(owner string) []Function {
	if owner == "" {
		return p.roots()
	}
	return p.Members(owner)
}

// roots are what an expression may begin with at a place, besides names in scope.
func (p *Place) roots() []Function {
	out := append([]Function(nil), functions...)
	has := func(key string) bool {
		for _, l := range p.Chain {
			if l.Key != nil && l.Key.Value == key {
				return true
			}
		}
		return false
	}
	switch {
	case IsKind(p.Root, "model"):
		out = append(out, modelRoots...)
		if has("view") {
			out = append(out, viewRoots...)
		}
	case IsKind(p.Root, "variant"):
		return append(out, bindRoots...)
	case IsKind(p.Root, "rules"):
		return append(out, ruleRoots...)
	}
	if has("let") {
		return out
	}
	return append(out, lengths...)
}

// Members are what may stand behind a dot, by what stands before it.
func (p *Place) Members(owner string) []Function {
	if m := members[owner]; m != nil {
		return m
	}
	if n := Lookup(p.Scope(), owner); n != nil {
		switch {
		case n.Kind == Value || n.Kind == Input || n.Kind == Weight:
			return members["value"]
		case n.Kind == Let && strings.Contains(n.Detail, "dict("), n.Kind == Parameter && strings.HasPrefix(strings.Trim(n.Detail, "{"), "map"):
			return members["config"]
		}
	}
	return append(append([]Function(nil), members["list"]...), members["config"]...)
}
