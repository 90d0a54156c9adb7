package format

import (
	"errors"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

// MaxColumns is the length beyond which a line is broken at a comma.
const MaxColumns = 150

// ErrUnsafe says that a file is written in a way which this package does not follow: formatting it would change its
// meaning or lose a comment. The file is as it was.
var ErrUnsafe = errors.New("the file cannot be formatted without changing its meaning")

// Source formats a file's text. What is wrong with its YAML goes to the list, and the text comes back as it was.
func Source(path string, data []byte, list *diag.List) ([]byte, error) {
	before := list.HasErrors()
	text := normalLines(data)
	file := source.Parse(path, []byte(text), list)
	if file.Root == nil || list.HasErrors() && !before {
		return data, nil
	}
	out := text
	for _, step := range []func(*source.File) (string, bool){reorder, layout} {
		next, ok := step(file)
		if !ok {
			continue
		}
		var found diag.List
		again := source.Parse(path, []byte(next), &found)
		if again.Root == nil || !same(arranged(file.Root), arranged(again.Root)) || !slices.Equal(comments(file), comments(again)) {
			return data, ErrUnsafe
		}
		out, file = next, again
	}
	return []byte(out), nil
}

// normalLines has no byte order mark, and lines that end with a newline alone.
func normalLines(data []byte) string {
	text := strings.TrimPrefix(string(data), "\ufeff")
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// same tells whether two nodes mean the same, whatever they look like.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// comments are a file's comments, sorted.
func comments(file *source.File) []string {
	t := newText(file)
	var out []string
	for line := range t.lines {
		if c := t.comment(line); c >= 0 {
			out = append(out, strings.TrimRight(string(t.lines[line][c:]), " \t"))
		}
	}
	slices.Sort(out)
	return out
}
