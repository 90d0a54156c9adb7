package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// letters is a tokenizer whose tokens are single characters, and "ab".
func letters(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := FromJSON([]byte(`{"version": "1.0",
		"added_tokens": [{"id": 7, "content": "<end>", "special": true}],
		"decoder": {"type": "Fuse"},
		"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "\n": 4, " ": 5, "ab": 6, "<end>": 7}, "merges": ["a b"]}}`))
	require.NoError(t, err)
	return tok
}

func TestStopMatcher(t *testing.T) {
	tok := letters(t)
	for _, c := range []struct {
		name    string
		text    string
		ids     []int32
		stops   []string
		want    []string // what each Add returns, and Flush
		id      int32
		matched string
	}{
		{"no stop", "cad", nil, nil, []string{"c", "a", "d", ""}, -1, ""},
		{"stop id", "ca<end>d", []int32{7}, nil, []string{"c", "a", ""}, 7, ""},
		{"stop string in one token", "cabd", nil, []string{"ab"}, []string{"c", ""}, -1, "ab"},
		{"stop string over tokens", "cbcd", nil, []string{"bc"}, []string{"c", "", ""}, -1, "bc"},
		{"held and released", "cbad", nil, []string{"bc"}, []string{"c", "", "ba", "d", ""}, -1, ""},
		{"held to the end", "cb", nil, []string{"bc"}, []string{"c", "", "b"}, -1, ""},
		{"overlapping beginnings", "ccd", nil, []string{"cd"}, []string{"", "c", ""}, -1, "cd"},
		{"the earliest of two", "dcba", nil, []string{"ba", "cb"}, []string{"d", "", ""}, -1, "cb"},
		{"in the middle of a token", "cdab", nil, []string{"da"}, []string{"c", "", ""}, -1, "da"},
		{"held, then a stop id", "cb<end>", []int32{7}, []string{"bcd"}, []string{"c", "", "b"}, 7, ""},
		{"empty strings are ignored", "ca", nil, []string{""}, []string{"c", "a", ""}, -1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ids, err := tok.Encode(c.text, false)
			require.NoError(t, err)
			m := NewStopMatcher(NewStream(tok, false), c.ids, c.stops)
			var got []string
			stopped := false
			for _, id := range ids {
				var text string
				text, stopped = m.Add(id)
				got = append(got, text)
				if stopped {
					break
				}
			}
			if !stopped {
				got = append(got, m.Flush())
			}
			require.Equal(t, c.want, got)
			id, matched := m.Reason()
			require.Equal(t, c.id, id)
			require.Equal(t, c.matched, matched)
			if stopped {
				text, again := m.Add(0)
				require.True(t, again)
				require.Empty(t, text+m.Flush())
			}
		})
	}
}

func TestStopsDisagree(t *testing.T) {
	tok := letters(t)
	var s Stops
	s.add(tok, "config.json", 7, 99)
	require.Empty(t, s.Disagreement(tok))
	s.add(tok, "generation_config.json", 7, 0)
	s.add(tok, "the chat template")
	require.Equal(t, []int32{0, 7}, s.IDs)
	require.Equal(t, "the checkpoint's parts disagree on where a generation ends (config.json says <end>; "+
		"generation_config.json says a, <end>): it ends at any of them", s.Disagreement(tok))
}
