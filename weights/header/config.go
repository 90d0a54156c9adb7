package header

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MaxConfig is the size limit of config.json and its like, in bytes.
const MaxConfig = 8 << 20

// configBudget bounds what such a file's values may take in memory, roughly.
const configBudget = 16 << 20

// Config is a JSON file of settings, or what a GGUF file's metadata makes of it.
type Config struct {
	Path string // of the file
	// Values by key: nil (null), bool, int64 (a number without fraction and exponent), float64 (any other; NaN and the
	// infinities too), string, []any, map[string]any.
	Values map[string]any

	places map[string]Place
}

// ReadConfig reads config.json, given itself or the folder that holds it.
func ReadConfig(path string) (*Config, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "config.json")
	}
	return readJSONFile(path)
}

func readJSONFile(path string) (*Config, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > MaxConfig {
		return nil, fmt.Errorf("%s: %d bytes; a file of settings has at most %d", path, size, MaxConfig)
	}
	return parseConfig(path, f)
}

func parseConfig(path string, src io.Reader) (*Config, error) {
	j := newJSON(io.LimitReader(src, MaxConfig+1))
	j.python, j.budget = true, configBudget
	c := &Config{Path: path, places: map[string]Place{}}
	if first := j.peek(); first != '{' {
		return nil, fmt.Errorf("%s:%w", path, j.errorf("expected an object, found %s", j.found(first)))
	}
	v, err := j.Value(nil, func(keys []string, at Place) {
		if len(keys) <= 3 && len(c.places) < 10_000 {
			c.places[strings.Join(keys, ".")] = at
		}
	})
	if err == nil {
		err = j.End()
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	values, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: expected an object of settings", path)
	}
	c.Values = values
	return c, nil
}

// Place is where a key stands in the file, its path joined by dots; zero where that is not known (deep keys, metadata).
func (c *Config) Place(key string) Place { return c.places[key] }

// At names the file and, where it is known, the place of a key, for messages.
func (c *Config) At(key string) string {
	if p, ok := c.places[key]; ok {
		return fmt.Sprintf("%s:%d:%d", c.Path, p.Line, p.Column)
	}
	return c.Path
}

// TokenIDs reads a token id or a list of them, as eos_token_id is given; none where the key is absent or null.
func (c *Config) TokenIDs(key string) ([]int64, error) {
	list, ok := c.Values[key].([]any)
	if !ok {
		list = []any{c.Values[key]}
		if c.Values[key] == nil {
			return nil, nil
		}
	}
	out := make([]int64, 0, len(list))
	for _, v := range list {
		n, ok := v.(int64)
		if !ok || n < 0 {
			return nil, fmt.Errorf("%s: %s is %v, not a token id or a list of them", c.At(key), key, v)
		}
		out = append(out, n)
	}
	return out, nil
}

// openRegular opens a file for reading and refuses what is none: a folder, a device, a pipe (which would block).
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: not a regular file (%s)", path, info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
