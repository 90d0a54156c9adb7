package lsp

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	protocol "github.com/tliron/glsp/protocol_3_16"

	"github.com/graphrun/graphrun/diag"
)

// Editors count columns in UTF-16 units from 0, this program in characters from 1.

// characters is how many characters the first n UTF-16 units of a line hold, at most all.
func characters(line string, n int) int {
	out := 0
	for _, r := range line {
		if n <= 0 {
			break
		}
		if n--; r > 0xffff {
			n--
		}
		out++
	}
	return out
}

// rangeOf turns a place into an editor's. Where no line is known it is the file's beginning.
func rangeOf(r diag.Range, line func(int) string) protocol.Range {
	if r.Line < 1 {
		r.Line, r.Col, r.EndLine, r.EndCol = 1, 1, 1, 1
	}
	at := func(l, c int) protocol.Position {
		return protocol.Position{Line: uint32(max(l-1, 0)), Character: uint32(diag.Units(line(l), max(c-1, 0)))}
	}
	return protocol.Range{Start: at(r.Line, r.Col), End: at(max(r.EndLine, r.Line), r.EndCol)}
}

// pathOf is the file that a URI names; "" where it names none.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.Clean(filepath.FromSlash(path))
}

func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
