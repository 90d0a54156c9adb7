package bpe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func vocab(t testing.TB, tokens ...string) *Vocab {
	t.Helper()
	v := NewVocab(len(tokens))
	for i, token := range tokens {
		require.NoError(t, v.Add(token, int32(i)))
	}
	return v
}

func encode(t testing.TB, m *Model, word string) []int32 {
	t.Helper()
	e := m.Encoder()
	defer e.Close()
	ids, err := e.Append(nil, word, false)
	require.NoError(t, err)
	again, err := e.Append(nil, word, false) // from the cache
	require.NoError(t, err)
	require.Equal(t, ids, again)
	return ids
}

func pairList(lines ...string) []Pair {
	var out []Pair
	for _, l := range lines {
		a, b, _ := strings.Cut(l, " ")
		out = append(out, Pair{a, b})
	}
	return out
}

func TestMerges(t *testing.T) {
	for _, c := range []struct {
		name   string
		tokens []string
		merges []Pair
		config Config
		word   string
		want   []int32
	}{
		{"lowest rank first", []string{"a", "b", "c", "ab", "bc"}, pairList("b c", "a b"), Config{}, "abc", []int32{0, 4}},
		{"leftmost of one rank", []string{"a", "aa"}, pairList("a a"), Config{}, "aaaaa", []int32{1, 1, 0}},
		{"the later of two ranks of a pair", []string{"a", "b", "c", "ab", "bc"}, pairList("a b", "b c", "a b"), Config{}, "abc", []int32{0, 4}},
		{"unknown vanishes", []string{"a"}, nil, Config{}, "xax", []int32{0}},
		{"unknown", []string{"a", "?"}, nil, Config{Unknown: "?", HasUnknown: true}, "xxax", []int32{1, 1, 0, 1}},
		{"unknown fused", []string{"a", "?"}, nil, Config{Unknown: "?", HasUnknown: true, FuseUnknown: true}, "xxax", []int32{1, 0, 1}},
		{"bytes", []string{"a", "<0xC3>", "<0xA9>"}, nil, Config{ByteFallback: true}, "aé", []int32{0, 1, 2}},
		{"some bytes only", []string{"a", "<0xC3>", "?"}, nil, Config{ByteFallback: true, Unknown: "?", HasUnknown: true}, "aé", []int32{0, 2}},
		{"prefix and suffix", []string{"a", "##b", "##c</w>", "a##b", "ab", "abc</w>"}, pairList("a ##b", "ab ##c</w>"), Config{Prefix: "##", Suffix: "</w>"}, "abc", []int32{5}},
		{"whole word", []string{"a", "b", "ab"}, nil, Config{IgnoreMerges: true}, "ab", []int32{2}},
		{"not whole", []string{"a", "b", "ab"}, nil, Config{}, "ab", []int32{0, 1}},
		{"scores", []string{"a", "b", "c", "ab", "bc"}, nil, Config{Scores: []float32{0, 0, 0, -2, -1}}, "abc", []int32{0, 4}},
		{"equal scores", []string{"a", "aa", "aaa"}, nil, Config{Scores: []float32{0, -1, -2}}, "aaaa", []int32{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Vocab, c.config.Merges = vocab(t, c.tokens...), c.merges
			m, err := New(c.config)
			require.NoError(t, err)
			require.Equal(t, c.want, encode(t, m, c.word))
		})
	}
}

func TestErrors(t *testing.T) {
	_, err := New(Config{Vocab: vocab(t, "a", "b"), Merges: pairList("a b")})
	require.EqualError(t, err, `merge 0 ("a" "b"): "ab" is not in the vocabulary`)
	_, err = New(Config{Vocab: vocab(t, "a"), Merges: pairList("a x")})
	require.EqualError(t, err, `merge 0 ("a" "x"): "x" is not in the vocabulary`)
	_, err = New(Config{Vocab: vocab(t, "a"), Merges: pairList("a a"), Prefix: "##"})
	require.ErrorContains(t, err, "shorter than the prefix")
	v := NewVocab(0)
	require.ErrorContains(t, v.Add("a", -1), "out of range")
	require.ErrorContains(t, v.Add("a", 1<<30), "out of range")

	m, err := New(Config{Vocab: vocab(t, "a"), Unknown: "?", HasUnknown: true})
	require.NoError(t, err, "such files exist")
	e := m.Encoder()
	defer e.Close()
	_, err = e.Append(nil, "ax", false)
	require.EqualError(t, err, `"x" has no token, and the unknown token "?" is not in the vocabulary`)
}

// The search in short words and the heap in long ones must agree.
func TestShortAgreesWithLong(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tokens := []string{"a", "b", "c", "d"}
	var merges []Pair
	for len(merges) < 60 {
		p := Pair{tokens[rng.IntN(len(tokens))], tokens[rng.IntN(len(tokens))]}
		if len(p.Left+p.Right) > 9 || slices.Contains(merges, p) {
			continue
		}
		merges = append(merges, p)
		if !slices.Contains(tokens, p.Left+p.Right) {
			tokens = append(tokens, p.Left+p.Right)
		}
	}
	m, err := New(Config{Vocab: vocab(t, tokens...), Merges: merges})
	require.NoError(t, err)
	for range 3000 {
		e := m.Encoder()
		for range 3 + rng.IntN(40) {
			e.w.add(int32(rng.IntN(4)))
		}
		short := m.mergeShort(slices.Clone(e.w.symbols))
		e.mergeLong()
		var long []int32
		for _, s := range e.w.symbols {
			if s.id >= 0 {
				long = append(long, s.id)
			}
		}
		var want []int32
		for _, s := range short {
			want = append(want, s.id)
		}
		require.Equal(t, want, long)
		e.w.symbols = e.w.symbols[:0]
		e.Close()
	}
}

// A megabyte of one letter takes n log n steps; n² would take minutes.
func TestLongWord(t *testing.T) {
	tokens, merges := []string{"a"}, []Pair(nil)
	for n := 1; n <= 64; n *= 2 {
		s := strings.Repeat("a", n)
		merges = append(merges, Pair{s, s})
		tokens = append(tokens, s+s)
	}
	m, err := New(Config{Vocab: vocab(t, tokens...), Merges: merges})
	require.NoError(t, err)
	e := m.Encoder()
	defer e.Close()
	ids, err := e.Append(nil, strings.Repeat("a", 1<<20), false)
	require.NoError(t, err)
	require.Len(t, ids, 1<<20/128)
}

func TestByteLevel(t *testing.T) {
	require.Equal(t, "Ġa", ByteLevel(" a"))
	require.Equal(t, "Ã©Ċ", ByteLevel("é\n"))
	for b := range 256 {
		require.Equal(t, []byte{byte(b)}, AppendBytes(nil, ByteLevel(string([]byte{byte(b)}))), fmt.Sprint(b))
	}
	require.Equal(t, "x y", string(AppendBytes([]byte("x"), " y")), "a space stands for no byte")
}

// Cutting in front of runs of separators, which makes long texts fast, must not change the ids.
func TestSeparable(t *testing.T) {
	tokens := []string{"▁", "a", "b", "▁▁", "▁a", "ab", "▁▁a", "?"}
	m, err := New(Config{Vocab: vocab(t, tokens...), Merges: pairList("▁ ▁", "▁ a", "a b", "▁ ▁a", "▁▁ a"), Unknown: "?", HasUnknown: true, FuseUnknown: true})
	require.NoError(t, err)
	require.True(t, m.separable)
	whole, err := New(Config{Vocab: vocab(t, tokens...), Merges: pairList("▁ ▁", "▁ a", "a b", "▁ ▁a", "▁▁ a"), Unknown: "?", HasUnknown: true, FuseUnknown: true})
	require.NoError(t, err)
	whole.separable = false
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var b strings.Builder
		for range rng.IntN(40) {
			b.WriteString([]string{"▁", "a", "b", "x", "▁▁▁"}[rng.IntN(5)])
		}
		require.Equal(t, encode(t, whole, b.String()), encode(t, m, b.String()), b.String())
	}
	m, err = New(Config{Vocab: vocab(t, "▁", "a", "a▁"), Merges: pairList("a ▁")})
	require.NoError(t, err)
	require.False(t, m.separable, "a merge reaches over the beginning of a run")
}
