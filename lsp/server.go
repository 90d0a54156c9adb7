package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/tliron/glsp"
	protocol "github.com/tliron/glsp/protocol_3_16"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// Options are what a server knows of the language.
type Options struct {
	Registry *registry.Registry
	Shipped  fs.FS         // models/, blocks/, variants/, rules/
	Version  string        // of the program
	Delay    time.Duration // without typing before a text is checked; 0: DefaultDelay
	Cache    string        // folder for copies of shipped files; "": in the user's cache folder
	// Memory estimates a plan for rules; nil: rules may not ask it.
	Memory func(p *plan.Plan, context, batch int) ([]compose.MemoryLine, error)
}

// DefaultDelay is long enough not to check every letter, short enough not to be noticed.
const DefaultDelay = 200 * time.Millisecond

// server serves one editor.
type server struct {
	*world
	protocol.Handler
	options Options
	conn    *jsonrpc2.Conn
	checks  *checks
	asked   bool // to shut down
	left    bool // without being asked to shut down before
}

// Serve talks to an editor until it says exit, the input ends or the context is cancelled.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if o.Delay == 0 {
		o.Delay = DefaultDelay
	}
	if o.Cache == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			o.Cache = filepath.Join(dir, "graphrun", "shipped")
		}
	}
	w, err := newWorld(o.Registry, o.Shipped, o.Cache)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{world: w, options: o}
	s.handlers()
	stream := jsonrpc2.NewBufferedStream(pipe{in, out}, jsonrpc2.VSCodeObjectCodec{})
	ready := make(chan struct{})
	s.conn = jsonrpc2.NewConn(ctx, stream, jsonrpc2.HandlerWithError(func(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
		<-ready
		return s.handle(ctx, c, r)
	}), jsonrpc2.SetLogger(silent{}))
	s.checks = newChecks(ctx, s)
	close(ready)
	select {
	case <-s.conn.DisconnectNotify():
	case <-ctx.Done():
		_ = s.conn.Close()
	}
	cancel()
	s.checks.wait()
	if s.left {
		return ErrNotShutDown
	}
	return nil
}

// ErrNotShutDown says that the editor left without asking the server to shut down.
var ErrNotShutDown = errors.New("the editor said exit before shutdown")

// pipe is what a connection reads and writes; closing it is its owner's.
type pipe struct {
	io.Reader
	io.Writer
}

func (pipe) Close() error { return nil }

// silent drops what the connection would print.
type silent struct{}

func (silent) Printf(string, ...any) {}

// handle passes a message to its handler. A panic becomes an error of the one request.
func (s *server) handle(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: fmt.Sprintf("%s: %v\n%s", r.Method, p, debug.Stack())}
		}
	}()
	g := &glsp.Context{Method: r.Method,
		Notify: func(method string, params any) { _ = c.Notify(ctx, method, params) },
		Call:   func(method string, params, result any) { _ = c.Call(ctx, method, params, result) },
	}
	if r.Params != nil {
		g.Params = *r.Params
	}
	if r.Method == protocol.MethodExit {
		s.left = !s.asked
		return nil, c.Close()
	}
	result, known, valid, err := s.Handler.Handle(g)
	var failed *jsonrpc2.Error
	switch {
	case !known:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: r.Method + " is not supported"}
	case errors.As(err, &failed):
		return nil, failed
	case !valid:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: fmt.Sprint(err)}
	case err != nil:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: err.Error()}
	}
	return result, nil
}

func (s *server) handlers() {
	s.Initialize = s.initialize
	s.Initialized = func(*glsp.Context, *protocol.InitializedParams) error { return nil }
	s.Shutdown = func(*glsp.Context) error { s.asked = true; return nil }
	s.SetTrace = func(*glsp.Context, *protocol.SetTraceParams) error { return nil }
	s.CancelRequest = func(*glsp.Context, *protocol.CancelParams) error { return nil }
	s.TextDocumentDidOpen = s.didOpen
	s.TextDocumentDidChange = s.didChange
	s.TextDocumentDidSave = s.didSave
	s.TextDocumentDidClose = s.didClose
	s.TextDocumentHover = s.onHover
	s.TextDocumentCompletion = s.onCompletion
	s.TextDocumentDefinition = s.onDefinition
	s.TextDocumentFormatting = s.onFormatting
	s.TextDocumentCodeAction = s.onCodeAction
}

func (s *server) initialize(*glsp.Context, *protocol.InitializeParams) (any, error) {
	full, yes := protocol.TextDocumentSyncKindFull, true
	c := s.CreateServerCapabilities()
	c.TextDocumentSync = protocol.TextDocumentSyncOptions{OpenClose: &yes, Change: &full, Save: &protocol.SaveOptions{}}
	c.CompletionProvider = &protocol.CompletionOptions{TriggerCharacters: []string{"{", " ", ".", ","}}
	c.CodeActionProvider = protocol.CodeActionOptions{CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix}}
	return protocol.InitializeResult{
		Capabilities: c,
		ServerInfo:   &protocol.InitializeResultServerInfo{Name: "graphrun", Version: &s.options.Version},
	}, nil
}

func (s *server) didOpen(_ *glsp.Context, p *protocol.DidOpenTextDocumentParams) error {
	d := p.TextDocument
	if path := pathOf(d.URI); path != "" {
		s.set(path, d.URI, d.Text, d.Version)
		s.checks.soon(path)
	}
	return nil
}

func (s *server) didChange(_ *glsp.Context, p *protocol.DidChangeTextDocumentParams) error {
	path := pathOf(p.TextDocument.URI)
	if path == "" {
		return nil
	}
	for _, change := range p.ContentChanges {
		if whole, ok := change.(protocol.TextDocumentContentChangeEventWhole); ok {
			s.set(path, p.TextDocument.URI, whole.Text, p.TextDocument.Version)
		}
	}
	s.checks.soon(path)
	return nil
}

// didSave checks every open file: what was saved may be a block that they call.
func (s *server) didSave(*glsp.Context, *protocol.DidSaveTextDocumentParams) error {
	for path := range s.texts() {
		s.checks.soon(path)
	}
	return nil
}

func (s *server) didClose(_ *glsp.Context, p *protocol.DidCloseTextDocumentParams) error {
	if path := pathOf(p.TextDocument.URI); path != "" {
		s.forget(path)
		s.checks.drop(path)
	}
	return nil
}
