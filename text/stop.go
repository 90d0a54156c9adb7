package text

import (
	"slices"
	"strings"
)

// StopMatcher ends a stream at stop ids and stop strings, and holds back text that may turn out to be the beginning of a
// stop string. It serves one generation.
type StopMatcher struct {
	stream  *Stream
	ids     []int32
	strings []string
	held    string
	stopped bool
	id      int32
	text    string
}

// NewStopMatcher wraps a stream. Empty strings are ignored.
func NewStopMatcher(s *Stream, ids []int32, stops []string) *StopMatcher {
	m := &StopMatcher{stream: s, ids: slices.Clone(ids), id: -1}
	for _, stop := range stops {
		if stop != "" {
			m.strings = append(m.strings, stop)
		}
	}
	return m
}

// Add takes the next id and returns the text that is safe to print. stopped is true when the generation is to end: the id
// is a stop id, or the text now holds a stop string. Neither is part of the text, and there is nothing left to flush.
func (m *StopMatcher) Add(id int32) (text string, stopped bool) {
	if m.stopped {
		return "", true
	}
	if slices.Contains(m.ids, id) {
		text = m.Flush()
		if m.text == "" { // else a stop string stood before it
			m.id = id
		}
		return text, true
	}
	return m.take(m.stream.Add(id)), m.stopped
}

// Flush ends the stream and returns the text that was held back, up to a stop string in it.
func (m *StopMatcher) Flush() string {
	if m.stopped {
		return ""
	}
	text := m.take(m.stream.Flush())
	if !m.stopped {
		text += m.held
	}
	m.held, m.stopped = "", true
	return text
}

// Reason says what ended the generation: the id (-1 if none), or the stop string ("" if none).
func (m *StopMatcher) Reason() (id int32, text string) { return m.id, m.text }

// take adds text to what is held and returns what is safe.
func (m *StopMatcher) take(text string) string {
	m.held += text
	first := -1
	for _, stop := range m.strings {
		if at := strings.Index(m.held, stop); at >= 0 && (first < 0 || at < first) {
			first, m.text = at, stop
		}
	}
	if first >= 0 {
		safe := m.held[:first]
		m.held, m.stopped = "", true
		return safe
	}
	keep := 0
	for _, stop := range m.strings {
		for n := min(len(stop)-1, len(m.held)); n > keep; n-- {
			if strings.HasSuffix(m.held, stop[:n]) {
				keep = n
				break
			}
		}
	}
	safe := m.held[:len(m.held)-keep]
	m.held = m.held[len(m.held)-keep:]
	return safe
}

// Stops are the ids at which a generation ends: the union of what the parts of a checkpoint say, which often disagree.
type Stops struct {
	IDs     []int32 // sorted
	Sources []StopSource
}

// StopSource is one part of a checkpoint with the ids it names.
type StopSource struct {
	Name string
	IDs  []int32
}

// add notes what a source says. Ids without a token are left out.
func (s *Stops) add(t *Tokenizer, name string, ids ...int32) {
	var known []int32
	for _, id := range ids {
		if _, ok := t.Token(id); ok {
			known = append(known, id)
		}
	}
	if len(known) == 0 {
		return
	}
	slices.Sort(known)
	known = slices.Compact(known)
	s.Sources = append(s.Sources, StopSource{name, known})
	s.IDs = append(s.IDs, known...)
	slices.Sort(s.IDs)
	s.IDs = slices.Compact(s.IDs)
}

// Disagreement describes in one line which ids the sources name, or is "" if all name the same.
func (s *Stops) Disagreement(t *Tokenizer) string {
	same := true
	var parts []string
	for _, src := range s.Sources {
		same = same && slices.Equal(src.IDs, s.Sources[0].IDs)
		var names []string
		for _, id := range src.IDs {
			token, _ := t.Token(id)
			names = append(names, token)
		}
		parts = append(parts, src.Name+" says "+strings.Join(names, ", "))
	}
	if same {
		return ""
	}
	return "the checkpoint's parts disagree on where a generation ends (" + strings.Join(parts, "; ") + "): it ends at any of them"
}
