package header

import (
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// Limits of GGUF metadata.
const (
	maxPairs    = 1 << 16 // key-value pairs
	maxKey      = 1 << 10 // bytes of a key
	maxKeys     = 8 << 20 // bytes of all keys
	maxElements = 1 << 21 // strings of all arrays together: they have to be walked
	maxPairsEnd = 1 << 27 // where in the file the pairs end at the latest
	maxLazy     = 1 << 26 // bytes of a value that is read at once
)

// GGUFMeta is the metadata of a GGUF file. Strings and arrays stay in the file until they are asked for.
type GGUFMeta struct {
	Path    string
	Version uint32

	keys   []string // in the order of the file
	values map[string]ggufValue
	src    io.ReaderAt
}

// ggufValue is a scalar's value, or where a string or an array lies.
type ggufValue struct {
	kind, element uint32
	scalar        any
	count         uint64 // bytes of a string, elements of an array
	offset        int64
	size          int64 // bytes of the string or of the elements
}

func (v ggufValue) kindName() string {
	if v.kind == ggufArray {
		return "array of " + ggufTypeNames[v.element]
	}
	return ggufTypeNames[v.kind]
}

// reopened reads a file by opening it anew each time, so that a checkpoint holds no file open.
type reopened struct {
	path string
	size int64
}

func (r reopened) ReadAt(p []byte, off int64) (int, error) {
	f, size, err := openRegular(r.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if size != r.size {
		return 0, fmt.Errorf("%s: the file has changed since its header was read (%d bytes, then %d)", r.path, r.size, size)
	}
	return f.ReadAt(p, off)
}

// readMeta reads the key-value pairs: numbers by value, strings and arrays by place.
func readMeta(c *cursor, m *GGUFMeta, count uint64) error {
	if count > maxPairs || count > uint64(c.left())/13 {
		return fmt.Errorf("its header counts %d metadata pairs, more than %s", count, atMost(maxPairs, c.left()/13))
	}
	m.values = make(map[string]ggufValue, min(count, 256))
	bytes, elements := 0, uint64(0)
	for i := range count {
		key, err := c.text(maxKey, fmt.Sprintf("the key of metadata pair %d", i))
		if err != nil {
			return err
		}
		if bytes += len(key); bytes > maxKeys {
			return fmt.Errorf("its metadata keys have more than %d bytes", maxKeys)
		}
		if !utf8.ValidString(key) {
			return fmt.Errorf("metadata key %s is not UTF-8", clip(key))
		}
		if _, twice := m.values[key]; twice {
			return fmt.Errorf("metadata key %s is there twice", clip(key))
		}
		v, err := readValue(c, "metadata "+clip(key), &elements)
		if err != nil {
			return err
		}
		m.keys = append(m.keys, key)
		m.values[key] = v
	}
	return nil
}

func readValue(c *cursor, what string, elements *uint64) (v ggufValue, err error) {
	if v.kind, err = c.u32(what); err != nil {
		return v, err
	}
	if v.kind >= uint32(len(ggufTypeNames)) {
		return v, fmt.Errorf("%s has type %d, which GGUF does not know", what, v.kind)
	}
	if n := ggufTypeSizes[v.kind]; n > 0 {
		b, err := c.take(n, what)
		if err == nil {
			v.scalar = ggufNumber(v.kind, b)
		}
		return v, err
	}
	if v.kind == ggufString {
		if v.count, err = c.u64(what); err != nil {
			return v, err
		}
		v.offset, v.size = c.off, int64(v.count)
		return v, c.skip(v.count, what)
	}
	if v.element, err = c.u32(what); err != nil {
		return v, err
	}
	if v.element >= uint32(len(ggufTypeNames)) || v.element == ggufArray {
		return v, fmt.Errorf("%s is an array of type %d; arrays of numbers, bools and strings are read", what, v.element)
	}
	if v.count, err = c.u64(what); err != nil {
		return v, err
	}
	v.offset = c.off
	if n := uint64(ggufTypeSizes[v.element]); n > 0 {
		if v.count > uint64(c.left())/n {
			return v, c.ended(what)
		}
		v.size = int64(v.count * n)
		return v, c.skip(v.count*n, what)
	}
	if v.count > uint64(c.left())/8 {
		return v, c.ended(what)
	}
	if *elements += v.count; *elements > maxElements {
		return v, fmt.Errorf("%s: the metadata's arrays hold more than %d strings", what, maxElements)
	}
	if err := c.skipStrings(v.count, what); err != nil {
		return v, err
	}
	v.size = c.off - v.offset
	return v, nil
}

// atMost words a count's limit: the format's reader's, or what the rest of the file could hold.
func atMost(limit, fits int64) string {
	if fits < limit {
		return fmt.Sprintf("its %d bytes or less could hold", fits)
	}
	return fmt.Sprintf("the %d that are read", limit)
}

// Keys lists the metadata's keys in the order of the file.
func (m *GGUFMeta) Keys() []string { return m.keys }

// Has tells whether a key is there.
func (m *GGUFMeta) Has(key string) bool { _, ok := m.values[key]; return ok }

func (m *GGUFMeta) wrong(key, want string) error {
	v, ok := m.values[key]
	if !ok {
		return fmt.Errorf("%s: no metadata %q", m.Path, key)
	}
	return fmt.Errorf("%s: metadata %q is %s, not %s", m.Path, key, v.kindName(), want)
}

func (m *GGUFMeta) read(key string, v ggufValue) ([]byte, error) {
	if v.size > maxLazy {
		return nil, fmt.Errorf("%s: metadata %q has %d bytes; at most %d are read", m.Path, key, v.size, maxLazy)
	}
	b := make([]byte, v.size)
	if n, err := m.src.ReadAt(b, v.offset); n < len(b) {
		return nil, fmt.Errorf("%s: metadata %q: %w", m.Path, key, err)
	}
	return b, nil
}

// Int gives an integer.
func (m *GGUFMeta) Int(key string) (int64, error) {
	if n, ok := m.values[key].scalar.(int64); ok {
		return n, nil
	}
	return 0, m.wrong(key, "an integer")
}

// Float gives a number. Of float32 it is the shortest decimal that rounds to it (1e-5, not 0.00000999999974).
func (m *GGUFMeta) Float(key string) (float64, error) {
	switch n := m.values[key].scalar.(type) {
	case float64:
		return n, nil
	case int64:
		return float64(n), nil
	}
	return 0, m.wrong(key, "a number")
}

// Bool gives a bool.
func (m *GGUFMeta) Bool(key string) (bool, error) {
	if b, ok := m.values[key].scalar.(bool); ok {
		return b, nil
	}
	return false, m.wrong(key, "a bool")
}

// Text gives a string.
func (m *GGUFMeta) Text(key string) (string, error) {
	v := m.values[key]
	if v.kind != ggufString || !m.Has(key) {
		return "", m.wrong(key, "a string")
	}
	b, err := m.read(key, v)
	return string(b), err
}

// Texts gives an array of strings.
func (m *GGUFMeta) Texts(key string) ([]string, error) {
	v := m.values[key]
	if v.kind != ggufArray || v.element != ggufString {
		return nil, m.wrong(key, "an array of strings")
	}
	b, err := m.read(key, v)
	if err != nil {
		return nil, err
	}
	// One string holds all the bytes, and the elements are slices of it.
	all, out := string(b), make([]string, v.count)
	for i := range out {
		if len(all) < 8 {
			return nil, fmt.Errorf("%s: metadata %q: the file has changed since its header was read", m.Path, key)
		}
		n := uint64(0)
		for k := 7; k >= 0; k-- {
			n = n<<8 | uint64(all[k])
		}
		if all = all[8:]; n > uint64(len(all)) {
			return nil, fmt.Errorf("%s: metadata %q: the file has changed since its header was read", m.Path, key)
		}
		out[i], all = all[:n], all[n:]
	}
	return out, nil
}

// Ints gives an array of integers.
func (m *GGUFMeta) Ints(key string) ([]int64, error) {
	return ggufNumbers(m, key, "an array of integers", func(v any) (int64, bool) { n, ok := v.(int64); return n, ok })
}

// Floats gives an array of numbers.
func (m *GGUFMeta) Floats(key string) ([]float64, error) {
	return ggufNumbers(m, key, "an array of numbers", func(v any) (float64, bool) {
		if n, ok := v.(int64); ok {
			return float64(n), true
		}
		f, ok := v.(float64)
		return f, ok
	})
}

func ggufNumbers[T any](m *GGUFMeta, key, want string, to func(any) (T, bool)) ([]T, error) {
	v := m.values[key]
	if v.kind != ggufArray || v.element == ggufString {
		return nil, m.wrong(key, want)
	}
	b, err := m.read(key, v)
	if err != nil {
		return nil, err
	}
	n := ggufTypeSizes[v.element]
	out := make([]T, v.count)
	for i := range out {
		one, ok := to(ggufNumber(v.element, b[i*n:]))
		if !ok {
			return nil, m.wrong(key, want)
		}
		out[i] = one
	}
	return out, nil
}

// Value gives any scalar or string: bool, int64, float64 or string.
func (m *GGUFMeta) Value(key string) (any, error) {
	v := m.values[key]
	if v.scalar != nil {
		return v.scalar, nil
	}
	return m.Text(key)
}

// shortest widens a float32 to the float64 of the shortest decimal that means it: what its author wrote.
func shortest(f float32) float64 {
	wide, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	if err != nil {
		return float64(f)
	}
	return wide
}
