package bpe

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cached words are at most maxWord bytes long; a workspace keeps at most maxCached of them.
const (
	maxWord   = 256
	maxCached = 20000
)

// Encoder encodes the words of one text. It must not be shared between goroutines.
type Encoder struct {
	m *Model
	w *workspace
}

type workspace struct {
	words   map[string]cached // by the raw word
	mapped  map[string]cached // by the word in byte stand-ins
	ids     []int32           // of all cached words, back to back
	symbols []symbol
	heap    []candidate
	buf     []byte
}

type cached struct{ from, to int32 }

// Encoder returns an encoder; Close gives its memory and its cache back for the next text.
func (m *Model) Encoder() *Encoder {
	w, _ := m.workspaces.Get().(*workspace)
	if w == nil {
		w = &workspace{words: map[string]cached{}, mapped: map[string]cached{}}
	}
	return &Encoder{m, w}
}

// Close ends the use of the encoder.
func (e *Encoder) Close() {
	if cap(e.w.symbols) > 1<<16 {
		e.w.symbols, e.w.heap = nil, nil // do not keep the memory of an unusual word
	}
	e.m.workspaces.Put(e.w)
	e.w = nil
}

// Append appends the ids of word. With bytes, each byte of word is first replaced by its stand-in.
func (e *Encoder) Append(ids []int32, word string, bytes bool) ([]int32, error) {
	if word == "" {
		return ids, nil
	}
	if !bytes && e.m.separable {
		for {
			n := nextPart(word)
			var err error
			if ids, err = e.part(ids, word[:n], false); err != nil || n == len(word) {
				return ids, err
			}
			word = word[n:]
		}
	}
	return e.part(ids, word, bytes)
}

// part appends the ids of a word, or a part that merges do not reach out of, from the cache or by encoding it.
func (e *Encoder) part(ids []int32, word string, bytes bool) ([]int32, error) {
	cache := e.w.words
	if bytes {
		cache = e.w.mapped
	}
	if c, ok := cache[word]; ok {
		return append(ids, e.w.ids[c.from:c.to]...), nil
	}
	start := len(ids)
	ids, err := e.encode(ids, word, bytes)
	if err == nil && len(word) <= maxWord && len(e.w.words)+len(e.w.mapped) < maxCached {
		from := int32(len(e.w.ids))
		e.w.ids = append(e.w.ids, ids[start:]...)
		cache[strings.Clone(word)] = cached{from, int32(len(e.w.ids))}
	}
	return ids, err
}

func (e *Encoder) encode(ids []int32, word string, bytes bool) ([]int32, error) {
	m, w := e.m, e.w
	if m.config.IgnoreMerges {
		token := word
		if bytes {
			token = ByteLevel(word)
		}
		if id, ok := m.vocab.ids[token]; ok {
			return append(ids, id), nil
		}
	}
	w.symbols = w.symbols[:0]
	if bytes && m.canBytes {
		for i := 0; i < len(word); i++ {
			w.add(m.byteLevel[word[i]])
		}
	} else {
		if bytes {
			word = ByteLevel(word)
		}
		if err := e.split(word); err != nil {
			return ids, err
		}
	}
	if len(w.symbols) <= shortWord {
		w.symbols = m.mergeShort(w.symbols)
	} else {
		e.mergeLong()
	}
	for i := range w.symbols {
		if w.symbols[i].id >= 0 {
			ids = append(ids, w.symbols[i].id)
		}
	}
	return ids, nil
}

// split turns the characters of a word into symbols.
func (e *Encoder) split(word string) error {
	m, w, c := e.m, e.w, &e.m.config
	pending := false // an unknown token that has not been added yet
	for i, n := 0, 0; i < len(word); i += n {
		_, n = utf8.DecodeRuneInString(word[i:])
		part := word[i : i+n]
		prefixed := i > 0 && c.Prefix != ""
		suffixed := i+n == len(word) && c.Suffix != ""
		id := int32(-1)
		switch {
		case prefixed || suffixed:
			w.buf = w.buf[:0]
			if prefixed {
				w.buf = append(w.buf, c.Prefix...)
			}
			w.buf = append(w.buf, part...)
			if suffixed {
				w.buf = append(w.buf, c.Suffix...)
			}
			part = string(w.buf)
			id = m.id(part)
		case n == 1 && part[0] < 0x80:
			id = m.ascii[part[0]]
		default:
			id = m.id(part)
		}
		if id >= 0 {
			if pending {
				w.add(m.unknown)
				pending = false
			}
			w.add(id)
			continue
		}
		if c.ByteFallback && m.addBytes(w, part) {
			continue
		}
		if !c.HasUnknown {
			continue
		}
		if m.unknown < 0 {
			return fmt.Errorf("%q has no token, and the unknown token %q is not in the vocabulary", part, c.Unknown)
		}
		if pending && !c.FuseUnknown {
			w.add(m.unknown)
		}
		pending = true
	}
	if pending {
		w.add(m.unknown)
	}
	return nil
}

// addBytes adds the byte tokens of part if all of them exist.
func (m *Model) addBytes(w *workspace, part string) bool {
	for i := 0; i < len(part); i++ {
		if m.bytes[part[i]] < 0 {
			return false
		}
	}
	for i := 0; i < len(part); i++ {
		w.add(m.bytes[part[i]])
	}
	return true
}
