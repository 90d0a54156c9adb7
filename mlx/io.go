package mlx

// LoadSafetensors opens a file with MLX's own reader, lazily on s: the arrays by name, for the caller to free, and the
// metadata. Package weights reads checkpoints; this is the reference that it is tested against.
func LoadSafetensors(path string, s Stream) (map[string]Array, map[string]string, error) {
	return loadSafetensors(path, s)
}

// SaveSafetensors evaluates arrays and writes them to a file.
func SaveSafetensors(path string, arrays map[string]Array, metadata map[string]string) error {
	return saveSafetensors(path, arrays, metadata)
}

// GGUF is a GGUF file as MLX's own reader gives it: quantised tensors are split into weights, scales and biases.
type GGUF struct {
	Arrays map[string]Array
	ctx    uintptr
}

// LoadGGUF opens a file on the calling thread's default CPU stream; the caller frees it.
func LoadGGUF(path string) (*GGUF, error) { return loadGGUF(path) }

// String gives a string of the metadata.
func (g *GGUF) String(key string) (string, bool) { return g.text(key) }

// Strings gives a list of strings of the metadata.
func (g *GGUF) Strings(key string) ([]string, bool) { return g.texts(key) }

// Array gives a number or a list of numbers of the metadata, for the caller to free.
func (g *GGUF) Array(key string) (Array, bool) { return g.array(key) }

// Free frees the arrays and the metadata.
func (g *GGUF) Free() {
	for _, a := range g.Arrays {
		a.Free()
	}
	g.Arrays = nil
	g.close()
}
