package format

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
)

// Keys gives the canonical order of a file's keys; nil for an unknown kind.
func Keys(kind string) []string { return fileKeys[kind] }

var fileKeys = map[string][]string{
	"model": {"graphrun", "kind", "name", "doc", "imports", "extends", "recognises", "params", "let", "view", "in",
		"ports", "groups", "weights", "state", "nodes", "out", "entries", "examples"},
	"block": {"graphrun", "kind", "name", "doc", "imports", "compiled", "params", "let", "in", "ports", "groups", "weights", "state", "nodes", "out"},
	"variant": {"graphrun", "kind", "name", "doc", "imports", "of", "default", "requires", "entries", "let", "classes", "set", "bind", "states",
		"native", "fuse", "submit", "verify_cost", "examples"},
	"rules": {"graphrun", "kind", "name", "doc", "imports", "let", "rules", "examples"},
}

var (
	entryKeys = []string{"of", "requires", "let", "in", "ports", "groups", "weights", "state", "nodes", "out"}
	ruleKeys  = []string{"name", "doc", "severity", "let", "when", "each", "as", "assert", "message"}
)

// EntryKeys is the canonical order of an entry's keys, RuleKeys that of a rule's.
func EntryKeys() []string { return slices.Clone(entryKeys) }

// RuleKeys is the canonical order of a rule's keys.
func RuleKeys() []string { return slices.Clone(ruleKeys) }

// ordered calls f for each mapping whose keys have an order: the file, its entries, its rules.
func ordered(root *yaml.Node, f func(n *yaml.Node, keys []string)) {
	kind := ""
	if n := child(root, "kind"); n != nil {
		kind = n.Value
	}
	f(root, fileKeys[kind])
	if entries := child(root, "entries"); kind == "model" && entries != nil && entries.Kind == yaml.MappingNode {
		for i := 1; i < len(entries.Content); i += 2 {
			f(entries.Content[i], entryKeys)
		}
	}
	if rules := child(root, "rules"); kind == "rules" && rules != nil {
		for _, r := range rules.Content {
			f(r, ruleKeys)
		}
	}
}

func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// permutation is the order in which a mapping's pairs belong; nil where they have it. Unknown keys stay behind.
func permutation(n *yaml.Node, keys []string) []int {
	if n.Kind != yaml.MappingNode || keys == nil {
		return nil
	}
	rank := func(i int) int {
		if r := slices.Index(keys, n.Content[2*i].Value); r >= 0 {
			return r
		}
		return len(keys)
	}
	out := make([]int, len(n.Content)/2)
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return rank(a) - rank(b) })
	if slices.IsSorted(out) {
		return nil
	}
	return out
}

// arranged is a copy of the nodes with every such mapping in order, for comparing.
func arranged(root *yaml.Node) *yaml.Node {
	moved := map[*yaml.Node][]int{}
	ordered(root, func(n *yaml.Node, keys []string) {
		if p := permutation(n, keys); p != nil {
			moved[n] = p
		}
	})
	var copied func(n *yaml.Node) *yaml.Node
	copied = func(n *yaml.Node) *yaml.Node {
		out := *n
		out.Content = make([]*yaml.Node, len(n.Content))
		for i, c := range n.Content {
			out.Content[i] = copied(c)
		}
		if p := moved[n]; p != nil {
			content := make([]*yaml.Node, 0, len(out.Content))
			for _, i := range p {
				content = append(content, out.Content[2*i], out.Content[2*i+1])
			}
			out.Content = content
		}
		return &out
	}
	return copied(root)
}

// reorder moves the lines of the pairs that are out of order, one mapping after the other from the last in the file,
// so that lines further up keep their numbers. ok is false where there is nothing to move.
func reorder(file *source.File) (text string, ok bool) {
	t := newText(file)
	lines := make([]string, len(t.lines))
	for i, l := range t.lines {
		lines[i] = string(l)
	}
	type job struct {
		n    *yaml.Node
		keys []string
	}
	var jobs []job
	ordered(file.Root, func(n *yaml.Node, keys []string) { jobs = append(jobs, job{n, keys}) })
	slices.SortStableFunc(jobs, func(a, b job) int { return b.n.Line - a.n.Line })
	for _, j := range jobs {
		if p := permutation(j.n, j.keys); p != nil {
			ok = t.move(lines, j.n, p) || ok
		}
	}
	if !ok {
		return "", false
	}
	out := strings.Join(lines, "\n")
	if !definesBeforeUse(out) {
		return "", false
	}
	return out, true
}

// move puts the pairs of one mapping in block style into another order. Comments directly above a key go with it, and
// the blank lines above those.
func (t *text) move(lines []string, n *yaml.Node, order []int) bool {
	if n.Style&yaml.FlowStyle != 0 || n.Kind != yaml.MappingNode {
		return false
	}
	count := len(n.Content) / 2
	first, column := n.Content[0].Line-1, n.Content[0].Column-1
	starts := make([]int, count+1)
	for i := range count {
		k := n.Content[2*i]
		line := k.Line - 1
		if k.Column-1 != column || i > 0 && t.indent(line) != column {
			return false // two keys in a line, or a key behind something else
		}
		starts[i] = line
		for i > 0 && starts[i]-1 > starts[i-1] && t.isComment(starts[i]-1) && t.indent(starts[i]-1) == column && !t.inside(starts[i]-1) {
			starts[i]--
		}
		for i > 0 && starts[i]-1 > starts[i-1] && t.blank(starts[i]-1) && !t.inside(starts[i]-1) {
			starts[i]--
		}
	}
	starts[count] = t.endOf(n, column)
	// The first key of a list's item stands behind its dash.
	lead := lines[first][:len(string(t.lines[first][:column]))]
	front := starts[order[0]]
	for t.blank(front) {
		front++
	}
	if strings.TrimSpace(lead) != "" && front != n.Content[2*order[0]].Line-1 {
		return false
	}
	lines[first] = strings.Repeat(" ", column) + lines[first][len(lead):]
	blanks := lines[starts[order[0]]:front] // they go to the end of the list, to be taken away there
	out := append([]string(nil), lines[front:starts[order[0]+1]]...)
	for _, i := range order[1:] {
		out = append(out, lines[starts[i]:starts[i+1]]...)
	}
	out[0] = lead + strings.TrimPrefix(out[0], strings.Repeat(" ", column))
	copy(lines[first:starts[count]], append(out, blanks...))
	return true
}

// endOf is the line after a block mapping's last: the first further on that begins left of its keys.
func (t *text) endOf(n *yaml.Node, column int) int {
	end := t.lastLine(n) + 1
	for line := end; line < len(t.lines); line++ {
		switch {
		case t.blank(line):
		case t.indent(line) >= column && (column > 0 || t.isComment(line)):
			end = line + 1
		default:
			return end
		}
	}
	return end
}

// definesBeforeUse tells whether every alias stands behind its anchor.
func definesBeforeUse(text string) bool {
	var n yaml.Node
	return yaml.Unmarshal([]byte(text), &n) == nil
}
