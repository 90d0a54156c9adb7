package format

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
)

// step is by how much a mapping is indented inside another.
const step = 2

// indents decides where each line begins. A line that is not in the table goes with its neighbours.
type indents struct {
	*text
	to map[int]int
}

// layout writes the file's lines anew.
func layout(file *source.File) (string, bool) {
	t := newText(file)
	x := &indents{t, map[int]int{}}
	if t.explicitKeys() || !x.mapping(file.Root, 0) {
		return trimmed(t), true
	}
	x.commentLines()
	w := &writer{text: t, indent: x.to}
	return w.file(), true
}

// explicitKeys tells whether a key is written `? key`, which is not laid out.
func (t *text) explicitKeys() bool {
	for line, row := range t.lines {
		if in := t.indent(line); !t.inside(line) && in < len(row) && (row[in] == '?' || row[in] == ':') && (in+1 == len(row) || row[in+1] == ' ') {
			return true
		}
	}
	return false
}

// mapping places a mapping in block style whose keys begin at a column. It is false for what is not followed.
func (x *indents) mapping(n *yaml.Node, column int) bool {
	if n.Style&yaml.FlowStyle != 0 {
		return x.place(n, column)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if x.first(key) {
			x.to[key.Line-1] = column
		} else if i > 0 {
			return false
		}
		if !x.value(value, key.Line-1, column) {
			return false
		}
	}
	return true
}

// value places what a key of a mapping at a column, or a dash two before it, stands before.
func (x *indents) value(n *yaml.Node, line, column int) bool {
	switch {
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0:
		if n.Content[0].Line-1 == line {
			return false
		}
		return x.mapping(n, column+step)
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0:
		return x.sequence(n, column)
	}
	return x.place(n, column+step)
}

// sequence places a list in block style whose dashes stand at a column.
func (x *indents) sequence(n *yaml.Node, column int) bool {
	for i, item := range n.Content {
		line, col, ok := x.dash(item)
		if !ok {
			return false
		}
		if col == x.text.indent(line) {
			x.to[line] = column
		} else if i > 0 {
			return false
		}
		switch {
		case item.Kind == yaml.MappingNode && item.Style&yaml.FlowStyle == 0 && len(item.Content) > 0:
			ok = x.mapping(item, column+step)
		case item.Kind == yaml.SequenceNode && item.Style&yaml.FlowStyle == 0 && len(item.Content) > 0:
			ok = x.sequence(item, column+step)
		default:
			ok = x.place(item, column+step)
		}
		if !ok {
			return false
		}
	}
	return true
}

// place puts a scalar or a flow node that begins a line at a column. Lines that go on with it follow the writer.
func (x *indents) place(n *yaml.Node, column int) bool {
	if n.Line > 0 && n.Line-1 < len(x.lines) && x.first(n) && (n.Kind != yaml.ScalarNode || n.Value != "" || n.Style != 0) {
		if _, taken := x.to[n.Line-1]; !taken {
			x.to[n.Line-1] = column
		}
	}
	return true
}

// first tells whether a node is the first thing in its line.
func (x *indents) first(n *yaml.Node) bool {
	return n.Line-1 < len(x.lines) && x.text.indent(n.Line-1) == n.Column-1
}

// commentLines places lines that hold a comment alone: with the next line if they begin where it does, else with the
// one above that begins there, else by as much as the next is moved.
func (x *indents) commentLines() {
	for line := range x.lines {
		if _, ok := x.to[line]; ok || !x.isComment(line) || x.inside(line) {
			continue
		}
		in := x.text.indent(line)
		next, previous := -1, -1
		for l := line + 1; l < len(x.lines) && next < 0; l++ {
			if _, ok := x.to[l]; ok && !x.isComment(l) {
				next = l
			}
		}
		for l := line - 1; l >= 0 && previous < 0; l-- {
			if _, ok := x.to[l]; ok && !x.isComment(l) && x.text.indent(l) <= in {
				previous = l
			}
		}
		switch {
		case next >= 0 && x.text.indent(next) == in:
			x.to[line] = x.to[next]
		case previous >= 0 && x.text.indent(previous) == in:
			x.to[line] = x.to[previous]
		case next >= 0:
			x.to[line] = max(0, in+x.to[next]-x.text.indent(next))
		case previous >= 0:
			x.to[line] = max(0, in+x.to[previous]-x.text.indent(previous))
		}
	}
}

// trimmed is the text as it is, without space at the ends of lines and of the file.
func trimmed(t *text) string {
	w := &writer{text: t}
	for line, row := range t.lines {
		if s := t.within[line]; s != nil && s.block() {
			w.add(string(row), true)
			continue
		}
		w.add(strings.TrimRight(string(row), " \t"), t.inside(line))
	}
	return w.end()
}
