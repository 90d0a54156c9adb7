package lsp

import (
	"strings"

	"github.com/tliron/glsp"
	protocol "github.com/tliron/glsp/protocol_3_16"

	"github.com/graphrun/graphrun/compose/format"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/lsp/cursor"
)

// at finds an open file and what stands at a position of it; the column is in characters from 1.
func (s *server) at(uri string, pos protocol.Position) (d *document, p *cursor.Place, col int) {
	if d = s.document(pathOf(uri)); d == nil {
		return nil, nil, 0
	}
	file := s.file(d)
	col = characters(file.Line(int(pos.Line)+1), int(pos.Character)) + 1
	return d, cursor.At(file, int(pos.Line)+1, col), col
}

func (s *server) onHover(_ *glsp.Context, q *protocol.HoverParams) (*protocol.Hover, error) {
	d, p, col := s.at(q.TextDocument.URI, q.Position)
	if p == nil {
		return nil, nil
	}
	text := s.hover(p, col)
	if text == "" {
		return nil, nil
	}
	r := rangeOf(p.Range, s.file(d).Line)
	return &protocol.Hover{Contents: markup(text), Range: &r}, nil
}

func (s *server) onDefinition(_ *glsp.Context, q *protocol.DefinitionParams) (any, error) {
	_, p, col := s.at(q.TextDocument.URI, q.Position)
	if p == nil {
		return nil, nil
	}
	at, ok := s.definition(p, col)
	if !ok {
		return nil, nil
	}
	return protocol.Location{URI: uriOf(at.File), Range: rangeOf(at, s.lineOf(at.File))}, nil
}

// lineOf gives the lines of a file, open or not.
func (s *server) lineOf(path string) func(int) string {
	data, err := s.read(path)
	if err != nil {
		return func(int) string { return "" }
	}
	lines := strings.Split(string(data), "\n")
	return func(n int) string {
		if n < 1 || n > len(lines) {
			return ""
		}
		return strings.TrimSuffix(lines[n-1], "\r")
	}
}

func (s *server) onCompletion(_ *glsp.Context, q *protocol.CompletionParams) (any, error) {
	d := s.document(pathOf(q.TextDocument.URI))
	if d == nil {
		return nil, nil
	}
	line := int(q.Position.Line) + 1
	col := characters(s.file(d).Line(line), int(q.Position.Character)) + 1
	seen := map[string]bool{}
	items := []protocol.CompletionItem{}
	for _, p := range cursor.Typing(d.path, d.text, line, col) {
		r := rangeOf(p.Range, s.file(d).Line)
		for i, c := range s.complete(p) {
			if seen[c.label] {
				continue
			}
			seen[c.label] = true
			items = append(items, item(c, r, i))
		}
	}
	return protocol.CompletionList{Items: items}, nil
}

func item(c choice, r protocol.Range, rank int) protocol.CompletionItem {
	sort := string([]rune{rune('a' + c.group), rune('a' + rank/26/26%26), rune('a' + rank/26%26), rune('a' + rank%26)})
	out := protocol.CompletionItem{Label: c.label, Kind: &c.kind, SortText: &sort, TextEdit: protocol.TextEdit{Range: r, NewText: c.label}}
	if c.detail != "" {
		out.Detail = &c.detail
	}
	if c.doc != "" {
		out.Documentation = markup(c.doc)
	}
	return out
}

// onFormatting gives the canonical form as one edit; none where the file has errors of YAML.
func (s *server) onFormatting(_ *glsp.Context, q *protocol.DocumentFormattingParams) ([]protocol.TextEdit, error) {
	d := s.document(pathOf(q.TextDocument.URI))
	if d == nil {
		return nil, nil
	}
	var list diag.List
	out, err := format.Source(d.path, []byte(d.text), &list)
	if err != nil || list.HasErrors() || string(out) == d.text {
		return nil, err
	}
	lines := strings.Split(d.text, "\n")
	last := lines[len(lines)-1]
	whole := protocol.Range{End: protocol.Position{Line: uint32(len(lines) - 1), Character: uint32(diag.Units(last, len([]rune(last))))}}
	return []protocol.TextEdit{{Range: whole, NewText: string(out)}}, nil
}

// onCodeAction offers what a finding's "did you mean" says.
func (s *server) onCodeAction(_ *glsp.Context, q *protocol.CodeActionParams) (any, error) {
	var out []protocol.CodeAction
	kind, yes := protocol.CodeActionKindQuickFix, true
	for _, d := range q.Context.Diagnostics {
		for _, l := range strings.Split(d.Message, "\n") {
			word, is := diag.Suggested(l)
			if !is {
				continue
			}
			fixes := d
			out = append(out, protocol.CodeAction{
				Title: "Write " + word, Kind: &kind, Diagnostics: []protocol.Diagnostic{fixes}, IsPreferred: &yes,
				Edit: &protocol.WorkspaceEdit{Changes: map[string][]protocol.TextEdit{q.TextDocument.URI: {{Range: d.Range, NewText: word}}}},
			})
		}
	}
	return out, nil
}
