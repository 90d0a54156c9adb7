package main

import (
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Work that is done sooner shows no bar.
const barAfter = 400 * time.Millisecond

// bar shows how far something is, on standard error where that is a terminal, and leaves no trace. A nil bar does
// nothing.
type bar struct {
	t     terminal
	label string
	bytes bool // else a number of things
	what  string
	start time.Time

	mu   sync.Mutex
	all  *mpb.Progress
	bar  *mpb.Bar
	over bool
}

// progress is a bar, or nil where there is no terminal or none is wanted.
func (t terminal) progress(label string, bytes, quiet bool) *bar {
	if _, ok := screen(t.err); !ok || quiet {
		return nil
	}
	return &bar{t: t, label: label, bytes: bytes, what: "tokens", start: time.Now()}
}

// counts says what is counted, where that is neither bytes nor tokens.
func (b *bar) counts(what string) {
	if b != nil {
		b.what = what
	}
}

// set may be called on any goroutine.
func (b *bar) set(done, total int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || total <= 0 {
		return
	}
	if b.bar == nil {
		if done >= total || time.Since(b.start) < barAfter && done > 0 {
			return
		}
		if done == 0 {
			time.AfterFunc(barAfter, func() { b.late(total) })
			return
		}
		b.show(total)
	}
	b.bar.SetCurrent(done)
}

// late shows a bar for a first step that takes long.
func (b *bar) late(total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil && !b.over {
		b.show(total)
	}
}

func (b *bar) show(total int64) {
	count := decor.CountersNoUnit(" %d / %d " + b.what)
	if b.bytes {
		count = decor.CountersKibiByte(" % .1f / % .1f")
	}
	b.all = mpb.New(mpb.WithOutput(b.t.err), mpb.WithWidth(40))
	b.bar = b.all.AddBar(total, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name(b.label+" ")), mpb.AppendDecorators(count))
}

// end takes the bar away; nothing of it is written afterwards.
func (b *bar) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.bar != nil {
		b.bar.Abort(true)
		b.all.Wait()
		b.bar = nil
	}
}
