package lsp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
	protocol "github.com/tliron/glsp/protocol_3_16"

	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/lsp"
	"github.com/graphrun/graphrun/ops"
)

// editor drives a server over pipes, as an editor does.
type editor struct {
	t    *testing.T
	conn *jsonrpc2.Conn
	dir  string
	said chan published
	done chan error
	init protocol.InitializeResult
}

type stream struct {
	io.Reader
	io.WriteCloser
}

// finding is a diagnostic as it goes over the wire.
type finding struct {
	Range              protocol.Range
	Severity           int
	Code               string
	Source             string
	Message            string
	Tags               []int
	RelatedInformation []protocol.DiagnosticRelatedInformation
}

type published struct {
	URI         string
	Version     int
	Diagnostics []finding
}

// start begins a session in a folder with these files.
func start(t *testing.T, files map[string]string) *editor {
	t.Helper()
	e := &editor{t: t, dir: t.TempDir(), said: make(chan published, 64), done: make(chan error, 1)}
	for name, text := range files {
		path := filepath.Join(e.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	reg, err := ops.Default()
	require.NoError(t, err)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go func() {
		e.done <- lsp.Serve(context.Background(), in, out, lsp.Options{Registry: reg, Shipped: graphs.Files, Version: "test", Delay: time.Nanosecond,
			Cache: filepath.Join(e.dir, ".cache")})
		out.Close()
	}()
	e.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(stream{fromServer, toServer}, jsonrpc2.VSCodeObjectCodec{}),
		jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
			if r.Method == protocol.ServerTextDocumentPublishDiagnostics {
				var p published
				if err := json.Unmarshal(*r.Params, &p); err != nil {
					return nil, err
				}
				e.said <- p
			}
			return nil, nil
		}))
	t.Cleanup(func() { _ = e.conn.Close() })
	e.call(protocol.MethodInitialize, map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{}}, &e.init)
	e.notify(protocol.MethodInitialized, map[string]any{})
	return e
}

func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(e.t, e.conn.Call(ctx, method, params, result))
}

func (e *editor) notify(method string, params any) {
	e.t.Helper()
	require.NoError(e.t, e.conn.Notify(context.Background(), method, params))
}

func (e *editor) uri(name string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(e.dir, name))}).String()
}

func (e *editor) open(name, text string) {
	e.t.Helper()
	e.notify(protocol.MethodTextDocumentDidOpen, map[string]any{"textDocument": map[string]any{"uri": e.uri(name), "languageId": "yaml", "version": 1, "text": text}})
}

func (e *editor) change(name, text string, version int) {
	e.t.Helper()
	e.notify(protocol.MethodTextDocumentDidChange, map[string]any{
		"textDocument": map[string]any{"uri": e.uri(name), "version": version}, "contentChanges": []any{map[string]any{"text": text}}})
}

// findings waits for what is said of a file at a version (0: any).
func (e *editor) findings(name string, version int) []finding {
	e.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case p := <-e.said:
			if p.URI == e.uri(name) && (version == 0 || p.Version == version) {
				return p.Diagnostics
			}
		case <-timeout:
			require.FailNow(e.t, "nothing was said of "+name)
		}
	}
}

// cursor takes a text with a bar in it apart: the text without, and where the bar stood.
func cursor(t *testing.T, text string) (string, protocol.Position) {
	t.Helper()
	before, after, ok := strings.Cut(text, "¦")
	require.True(t, ok, "the text has no ¦")
	line := strings.Count(before, "\n")
	last := before[strings.LastIndex(before, "\n")+1:]
	n := 0
	for _, r := range last {
		if n++; r > 0xffff {
			n++
		}
	}
	return before + after, protocol.Position{Line: uint32(line), Character: uint32(n)}
}

func position(e *editor, name string, p protocol.Position) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": e.uri(name)}, "position": p}
}

// choices opens a text and asks what may be written at its bar.
func (e *editor) choices(name, text string) []protocol.CompletionItem {
	e.t.Helper()
	text, at := cursor(e.t, text)
	e.open(name, text)
	var list protocol.CompletionList
	e.call(protocol.MethodTextDocumentCompletion, position(e, name, at), &list)
	return list.Items
}

func labels(items []protocol.CompletionItem) []string {
	out := make([]string, len(items))
	for i, x := range items {
		out[i] = x.Label
	}
	return out
}

// hover opens a text and asks what stands at its bar.
func (e *editor) hover(name, text string) string {
	e.t.Helper()
	text, at := cursor(e.t, text)
	e.open(name, text)
	var h *struct{ Contents protocol.MarkupContent }
	e.call(protocol.MethodTextDocumentHover, position(e, name, at), &h)
	if h == nil {
		return ""
	}
	return h.Contents.Value
}

// definition opens a text and asks where what stands at its bar comes from: file, and the line's text from there on.
func (e *editor) definition(name, text string) (file, rest string) {
	e.t.Helper()
	text, at := cursor(e.t, text)
	e.open(name, text)
	var l *protocol.Location
	e.call(protocol.MethodTextDocumentDefinition, position(e, name, at), &l)
	if l == nil {
		return "", ""
	}
	u, err := url.Parse(l.URI)
	require.NoError(e.t, err)
	data := []byte(text)
	if l.URI != e.uri(name) {
		data, err = os.ReadFile(filepath.FromSlash(u.Path))
		require.NoError(e.t, err)
	}
	lines := strings.Split(string(data), "\n")
	rel, err := filepath.Rel(e.dir, filepath.FromSlash(u.Path))
	require.NoError(e.t, err)
	return filepath.ToSlash(rel), lines[l.Range.Start.Line][l.Range.Start.Character:]
}
