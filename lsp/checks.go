package lsp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/tliron/glsp/protocol_3_16"

	"github.com/graphrun/graphrun/diag"
)

// checks composes open files when they have not changed for a while, and publishes what is found. One file is checked at
// a time; a newer text cancels the check of an older one.
type checks struct {
	s   *server
	ctx context.Context

	mu      sync.Mutex
	timers  map[string]*time.Timer
	cancels map[string]context.CancelFunc
	found   map[string]map[string][]protocol.Diagnostic // by the open file that was checked, then by the file it is about
	running sync.WaitGroup
	one     sync.Mutex
	stopped bool
}

func newChecks(ctx context.Context, s *server) *checks {
	return &checks{s: s, ctx: ctx, timers: map[string]*time.Timer{}, cancels: map[string]context.CancelFunc{},
		found: map[string]map[string][]protocol.Diagnostic{}}
}

// soon checks a file after the delay.
func (c *checks) soon(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop(path)
	if c.stopped {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.cancels[path] = cancel
	c.running.Add(1)
	c.timers[path] = time.AfterFunc(c.s.options.Delay, func() {
		defer c.running.Done()
		c.one.Lock()
		defer c.one.Unlock()
		if ctx.Err() == nil {
			c.check(ctx, path)
		}
	})
}

// stop ends what is under way for a file; the lock is held.
func (c *checks) stop(path string) {
	if t := c.timers[path]; t != nil && t.Stop() {
		c.running.Done()
	}
	if cancel := c.cancels[path]; cancel != nil {
		cancel()
	}
	delete(c.timers, path)
	delete(c.cancels, path)
}

// drop forgets a file that is closed, and takes back what was said because of it.
func (c *checks) drop(path string) {
	c.mu.Lock()
	c.stop(path)
	c.mu.Unlock()
	c.publish(path, nil)
}

// wait lets checks end; none begins any more.
func (c *checks) wait() {
	c.mu.Lock()
	c.stopped = true
	for path := range c.cancels {
		c.stop(path)
	}
	c.mu.Unlock()
	c.running.Wait()
}

func (c *checks) check(ctx context.Context, path string) {
	list, err := c.s.compose(ctx, path)
	if err != nil || ctx.Err() != nil {
		return
	}
	lines := map[string]func(int) string{}
	line := func(file string) func(int) string {
		if lines[file] == nil {
			lines[file] = c.s.lineOf(file)
		}
		return lines[file]
	}
	out := map[string][]protocol.Diagnostic{path: {}}
	for _, d := range list {
		about := path
		if at := d.At.File; isUsers(at) {
			about = at
		}
		out[about] = append(out[about], diagnostic(d, about, line))
	}
	c.publish(path, out)
}

// publish says what was found: for each file that is concerned, everything that any open file's check found of it.
func (c *checks) publish(path string, found map[string][]protocol.Diagnostic) {
	c.mu.Lock()
	old := c.found[path]
	if found == nil {
		delete(c.found, path)
	} else {
		c.found[path] = found
	}
	concerned := map[string][]protocol.Diagnostic{}
	for _, m := range []map[string][]protocol.Diagnostic{old, found} {
		for about := range m {
			concerned[about] = []protocol.Diagnostic{}
		}
	}
	for about := range concerned {
		for _, m := range c.found {
			for _, d := range m[about] {
				if !slices.ContainsFunc(concerned[about], func(x protocol.Diagnostic) bool { return x.Range == d.Range && x.Message == d.Message }) {
					concerned[about] = append(concerned[about], d)
				}
			}
		}
	}
	c.mu.Unlock()
	for about, list := range concerned {
		params := protocol.PublishDiagnosticsParams{URI: uriOf(about), Diagnostics: list}
		if d := c.s.document(about); d != nil {
			version := uint32(max(d.version, 0))
			params.URI, params.Version = d.uri, &version
		}
		_ = c.s.conn.Notify(c.ctx, protocol.ServerTextDocumentPublishDiagnostics, params)
	}
}

// isUsers tells whether a finding is of a file that an editor can open: not of a shipped one.
func isUsers(file string) bool {
	return file != "" && !strings.HasPrefix(file, "graphs/") && (strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml") || strings.HasSuffix(file, ".json"))
}

// diagnostic turns a finding into an editor's. One of a shipped file is shown where the user's file has a part in it,
// else at its beginning.
func diagnostic(d *diag.Diagnostic, about string, line func(string) func(int) string) protocol.Diagnostic {
	at, message := d.At, d.Message
	if at.File != about {
		message = d.At.String() + ": " + message
		at = diag.Range{File: about}
		for _, r := range d.Related {
			if r.At.File == about {
				at = r.At
				break
			}
		}
	}
	if d.Path != "" {
		message += "\nin " + d.Path
	}
	for _, h := range d.Help {
		message += "\n" + h
	}
	severity := [...]protocol.DiagnosticSeverity{protocol.DiagnosticSeverityError, protocol.DiagnosticSeverityWarning, protocol.DiagnosticSeverityInformation}[d.Severity]
	source := "graphrun"
	out := protocol.Diagnostic{Range: rangeOf(at, line(about)), Severity: &severity, Code: &protocol.IntegerOrString{Value: d.Code}, Source: &source, Message: message}
	if strings.HasPrefix(d.Code, "unused-") {
		out.Tags = []protocol.DiagnosticTag{protocol.DiagnosticTagUnnecessary}
	}
	for _, r := range d.Related {
		if !isUsers(r.At.File) {
			out.Message += "\n" + r.At.String() + ": " + r.Message
			continue
		}
		out.RelatedInformation = append(out.RelatedInformation, protocol.DiagnosticRelatedInformation{
			Location: protocol.Location{URI: uriOf(r.At.File), Range: rangeOf(r.At, line(r.At.File))}, Message: r.Message})
	}
	return out
}
