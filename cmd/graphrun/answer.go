package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/model"
)

// answer writes the text as it comes.
type answer struct {
	t      terminal
	hold   bool   // write nothing
	before func() // the first text
	last   string
	begun  bool
	first  time.Time
}

func (a *answer) piece(text string) error {
	if !a.begun {
		a.begun, a.first = true, time.Now()
		a.before()
	}
	if a.hold {
		return nil
	}
	a.last = text
	_, err := io.WriteString(a.t.out, text)
	return err
}

// answered is what --json writes.
type answered struct {
	Model      string        `json:"model"` // the graph's name
	Checkpoint string        `json:"checkpoint"`
	Text       string        `json:"text"`
	Tokens     []int32       `json:"tokens"`
	Reason     engine.Reason `json:"reason"`
	Seed       *uint64       `json:"seed,omitempty"` // where tokens were drawn
	Stats      runStats      `json:"stats"`
}

type runStats struct {
	engine.Stats
	StartSeconds float64 `json:"start_to_first_token_seconds"` // since the process began
	PeakRSS      int64   `json:"peak_rss_bytes"`
}

// finish ends the answer's line and tells what there is to tell. An interrupted answer is told like any other.
func (c *runCmd) finish(t terminal, m *model.Model, r model.Result, s model.Settings, out *answer, err error) error {
	if out.begun && !out.hold && !strings.HasSuffix(out.last, "\n") {
		fmt.Fprintln(t.out)
	}
	if err != nil {
		return err
	}
	stats := runStats{Stats: r.Stats, PeakRSS: process.PeakMemory()}
	if out.begun {
		stats.StartSeconds = out.first.Sub(t.started).Seconds()
	}
	if c.JSON {
		o := answered{m.Name(), c.Checkpoint, r.Text, append([]int32{}, r.Tokens...), r.Reason, nil, stats}
		if s.Temperature > 0 {
			o.Seed = &s.Seed
		}
		e := json.NewEncoder(t.out)
		e.SetEscapeHTML(false)
		if err := e.Encode(o); err != nil {
			return err
		}
	}
	if !c.Quiet {
		if r.Warning != "" {
			t.say("warning: %s", r.Warning)
		}
		switch {
		case c.Stats:
			tellStats(t, m, stats, s)
		case !c.JSON:
			tellSpeed(t, stats)
		}
	}
	if r.Reason == engine.Cancelled {
		return exit(exitInterrupted)
	}
	return nil
}

// why an answer ended, where that is not the model's own end.
var endings = map[engine.Reason]string{
	engine.Length:    "; ended by --max-tokens",
	engine.Full:      "; the context is full",
	engine.Cancelled: "; interrupted",
}

// tellSpeed is the line below an answer.
func tellSpeed(t terminal, s runStats) {
	line := fmt.Sprintf("prompt: %d tokens, %.1f tokens/s; answer: %d tokens", s.PromptTokens, s.PromptTokensPerSec, s.GeneratedTokens)
	if s.DecodeTokensPerSec > 0 {
		line += fmt.Sprintf(", %.1f tokens/s", s.DecodeTokensPerSec)
	}
	t.say("\n[%s%s]", line, endings[s.Reason])
}

func tellStats(t terminal, m *model.Model, s runStats, o model.Settings) {
	t.say("")
	line := func(name, format string, args ...any) { t.say("%-16s "+format, append([]any{name}, args...)...) }
	line("model", "%s, %s", m.Name(), m.Checkpoint().Path)
	line("device", "%s", m.Engine().Device().Kind)
	line("prompt", "%d tokens, %.1f tokens/s", s.PromptTokens, s.PromptTokensPerSec)
	line("answer", "%d tokens, %.1f tokens/s (after the first), ended by %s", s.GeneratedTokens, s.DecodeTokensPerSec, s.Reason)
	line("first token", "%.3f s after the prompt, %.3f s after the start", s.FirstTokenSeconds, s.StartSeconds)
	line("peak memory", "%s of the process, %s allocated by MLX", engine.Bytes(s.PeakRSS), engine.Bytes(s.PeakMemory))
	line("planned memory", "%s", engine.Bytes(m.Engine().Memory().Total))
	if o.Temperature > 0 {
		line("seed", "%d", o.Seed)
	}
	if advice := m.Recommended(); advice != "" {
		line("not applied", "%s", advice)
	}
}
