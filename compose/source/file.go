// Package source reads graph files: YAML kept as yaml.v3 nodes with exact places, read strictly. It knows YAML and
// nothing of the language. What a file says twice, merges, hides in a second document or blows up with aliases is a
// diagnostic, never a surprise further on.
package source

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/diag"
)

// Limits on a file. They are far above what a person writes and far below what hurts.
const (
	MaxBytes = 1 << 20
	MaxNodes = 10_000 // after aliases
	MaxDepth = 64
)

// File is a graph file's text and nodes. It is not for concurrent use.
type File struct {
	Path string
	Data []byte
	Root *yaml.Node // the top mapping; nil where the file could not be read

	lines  []string
	ranges map[*yaml.Node]diag.Range
}

// Parse reads a file. Errors go to the list; Root is nil only where nothing can be made of the text.
func Parse(path string, data []byte, list *diag.List) *File {
	f := &File{Path: path, Data: data}
	whole := diag.Range{File: path, Line: 1, Col: 1, EndLine: 1, EndCol: 1}
	if len(data) > MaxBytes {
		list.Errorf("yaml-too-large", whole, "the file has %d bytes; a graph file may have %d", len(data), MaxBytes).Helped("a graph file is a few hundred lines of YAML: is this one? Layers that are alike are one `repeat`")
		return f
	}
	if at := invalidUTF8(data); at >= 0 {
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		list.Errorf("yaml-not-utf8", diag.Range{File: path, Line: line, Col: 1, EndLine: line, EndCol: 1},
			"byte %d is not UTF-8 (0x%02x)", at, data[at]).Helped("save the file as UTF-8")
		return f
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	f.lines = splitLines(text)
	if f.tooDeep(list) {
		return f
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		f.syntaxError(err, list)
		return f
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		list.Errorf("yaml-empty", whole, "the file holds no YAML document").Helped("begin with `graphrun: v1`, `kind:` and `name:`")
		return f
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		at := f.Range(&second)
		if len(second.Content) > 0 {
			at = f.Range(second.Content[0])
		}
		list.Errorf("yaml-second-document", at, "a graph file is one YAML document; this begins a second one").
			Because(f.Range(doc.Content[0]), "the first begins here").Helped("give it a file of its own, or remove the `---`")
	} else if !errors.Is(err, io.EOF) {
		f.syntaxError(err, list)
	}
	root := doc.Content[0]
	check := &strict{file: f, list: list, open: map[*yaml.Node]bool{}}
	check.node(root, 0)
	if check.stop {
		return f
	}
	if root.Kind != yaml.MappingNode {
		list.Errorf("yaml-not-a-mapping", f.Range(root), "a graph file is a mapping of keys; this is a %s", KindName(root)).
			Helped("begin with `graphrun: v1`")
		return f
	}
	f.Root = root
	return f
}

// Head reads of a file the top keys of these names alone, where each has plain text on its own line. It is false where one
// has not, or is not there: Parse reads it.
func Head(path string, data []byte, keys ...string) (*File, bool) {
	f := &File{Path: path, Data: data, Root: &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		f.lines = append(f.lines, line)
		last := len(f.Root.Content) - 1
		if last >= 0 && f.Root.Content[last].Line == len(f.lines)-1 && strings.HasPrefix(line, " ") {
			return nil, false // the text goes on
		}
		if last+1 == 2*len(keys) {
			return f, true
		}
		key, text, _ := strings.Cut(line, ":")
		if !slices.Contains(keys, key) {
			continue
		}
		lead := len(text) - len(strings.TrimLeft(text, " "))
		value := strings.TrimRight(text[lead:], " \t")
		if value == "" || lead == 0 || !isLetter(value[0]) || strings.Contains(value, ": ") || strings.HasSuffix(value, ":") || strings.Contains(value, " #") {
			return nil, false
		}
		f.Root.Content = append(f.Root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key, Line: len(f.lines), Column: 1},
			&yaml.Node{Kind: yaml.ScalarNode, Value: value, Line: len(f.lines), Column: len(key) + lead + 2})
	}
	return nil, false
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// Line is the n-th line (from 1) without its end.
func (f *File) Line(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	return f.lines[n-1]
}

// tooDeep refuses nesting before yaml.v3 recurses into it: brackets outside quotes and comments, and rows of dashes.
func (f *File) tooDeep(list *diag.List) bool {
	at := spot{}
	for i, line := range f.lines {
		if leadingDashes(line) > MaxDepth {
			at = spot{line: i + 1, col: 1}
			break
		}
	}
	depth := 0
	f.scan(func(s spot) {
		switch s.char {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > MaxDepth && (at.line == 0 || s.line < at.line) {
			at = s
		}
	})
	if at.line == 0 {
		return false
	}
	list.Errorf("yaml-too-deep", diag.Range{File: f.Path, Line: at.line, Col: at.col, EndLine: at.line, EndCol: at.col + 1},
		"more than %d levels of nesting", MaxDepth).Helped("move the inner parts into blocks, files of their own")
	return true
}

func leadingDashes(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case '-', '?':
			n++
		case ' ':
		default:
			return n
		}
	}
	return n
}

// KindName names a node's kind for a message.
func KindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	case yaml.AliasNode:
		return "alias"
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
			return "empty value"
		case "!!bool":
			return "boolean"
		case "!!int", "!!float":
			return "number"
		}
		return "string"
	}
	return "node"
}

// Deref follows an alias to what it stands for.
func Deref(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode && i < MaxDepth; i++ {
		n = n.Alias
	}
	return n
}
