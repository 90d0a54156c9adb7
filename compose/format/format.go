package format

import (
	"bytes"
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
// What it gives is formatted: rare YAML takes several rounds until nothing changes, and what never settles is unsafe.
func Source(path string, data []byte, list *diag.List) ([]byte, error) {
	before := list.HasErrors()
	file := source.Parse(path, []byte(normalLines(data)), list)
	if file.Root == nil || list.HasErrors() && !before {
		return data, nil
	}
	for range maxRounds {
		next, ok := round(path, file)
		if !ok {
			break
		}
		if bytes.Equal(next.Data, file.Data) {
			return next.Data, nil
		}
		file = next
	}
	return data, ErrUnsafe
}

// maxRounds is how often a text is formatted at most: twice is usual, the second time to see that nothing changes.
const maxRounds = 4

// round formats once. It is false where the meaning or a comment would be lost.
func round(path string, file *source.File) (*source.File, bool) {
	for _, step := range []func(*source.File) (string, bool){reorder, layout} {
		text, ok := step(file)
		if !ok {
			continue
		}
		var found diag.List
		next := source.Parse(path, []byte(normalLines([]byte(text))), &found)
		if next.Root == nil || !same(arranged(file.Root), arranged(next.Root)) || !slices.Equal(comments(file), comments(next)) {
			return nil, false
		}
		file = next
	}
	return file, true
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
