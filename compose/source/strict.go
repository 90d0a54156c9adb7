package source

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/diag"
)

// strict walks the nodes as a reader of the file would, through aliases, and reports what YAML allows and a graph file
// does not.
type strict struct {
	file  *File
	list  *diag.List
	nodes int
	open  map[*yaml.Node]bool // aliased nodes on the way down
	stop  bool
}

func (s *strict) node(n *yaml.Node, depth int) {
	if s.stop {
		return
	}
	if s.nodes++; s.nodes > MaxNodes {
		s.fail("yaml-too-many-nodes", n, "more than %d nodes, counting what aliases stand for", MaxNodes).Helped("layers that are alike are one `repeat`; parts go into blocks, files of their own")
		return
	}
	if depth > MaxDepth {
		s.fail("yaml-too-deep", n, "more than %d levels of nesting", MaxDepth).Helped("move the inner parts into blocks, files of their own")
		return
	}
	switch n.Kind {
	case yaml.AliasNode:
		if s.open[n.Alias] {
			s.fail("yaml-cyclic-anchor", n, "*%s stands for something that holds *%s itself", n.Value, n.Value).Because(s.file.Range(n.Alias), "&%s begins here", n.Value).
				Helped("write out what is meant here; if text is meant, quote it: '*%s'", n.Value)
			return
		}
		s.node(n.Alias, depth)
		return
	case yaml.MappingNode:
		s.mapping(n)
	case yaml.ScalarNode:
		s.tag(n)
	}
	if n.Anchor != "" {
		s.open[n] = true
		defer delete(s.open, n)
	}
	for _, c := range n.Content {
		s.node(c, depth+1)
	}
}

func (s *strict) fail(code string, n *yaml.Node, format string, args ...any) *diag.Diagnostic {
	s.stop = true
	return s.list.Errorf(code, s.file.Range(n), format, args...)
}

// tag refuses explicit tags: a leading `!` in an expression is read as one.
func (s *strict) tag(n *yaml.Node) {
	if n.Style&yaml.TaggedStyle == 0 || strings.HasPrefix(n.Tag, "!!") {
		return
	}
	d := s.list.Errorf("yaml-tag", s.file.Range(n), "%s is read as a YAML tag", n.Tag)
	if rest := strings.TrimSpace(n.Tag + " " + n.Value); rest != "" {
		d.Helped("quote the expression: '%s'", rest)
	}
}

func (s *strict) mapping(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := s.file.Range(key)
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			s.list.Errorf("yaml-merge-key", at, "merge keys (<<) are not part of the language").Helped("write the keys out")
			continue
		}
		k := Deref(key)
		if k.Kind != yaml.ScalarNode {
			s.list.Errorf("yaml-key", at, "a key is a word; this is a %s", KindName(k)).
				Helped("quote it if it is one word: '%s'", s.file.Text(at))
			continue
		}
		if plain := k.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0; plain && looksBoolean(k.Value) {
			s.list.Errorf("yaml-boolean-key", at, "%s is a boolean to many YAML readers", k.Value).Helped("quote it: '%s'", k.Value)
		}
		if first := keyBefore(n, i, k.Value); first != nil {
			s.list.Errorf("yaml-duplicate-key", at, "the key %s is there twice", k.Value).Because(s.file.Range(first), "first here").
				Helped("keep one, or give it another name; lines that may repeat a name, as nodes do, are a list: each begins with `- `")
		}
	}
}

// keyBefore finds a word among the keys of a mapping that stand before one.
func keyBefore(n *yaml.Node, before int, word string) *yaml.Node {
	for i := 0; i < before; i += 2 {
		if k := Deref(n.Content[i]); k.Kind == yaml.ScalarNode && k.Value == word {
			return n.Content[i]
		}
	}
	return nil
}

func looksBoolean(key string) bool {
	switch strings.ToLower(key) {
	case "on", "off", "yes", "no", "true", "false":
		return true
	}
	return false
}
