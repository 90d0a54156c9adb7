package header

import "io"

// ParseConfig reads a config from a text that is no file of its own; path names it in messages.
func ParseConfig(path string, src io.Reader) (*Config, error) { return parseConfig(path, src) }
