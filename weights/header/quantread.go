package header

// ReadQuantization reads the table of how modules are quantised from a config alone, where no checkpoint is opened.
func ReadQuantization(c *Config) (Quantization, error) {
	q, _, err := readQuantization(c)
	return q, err
}
