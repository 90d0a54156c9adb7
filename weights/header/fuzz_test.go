package header

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/weights/internal/testfile"
)

// checkTensors holds what a reader promises of the tensors it gives.
func checkTensors(t *testing.T, tensors []Tensor, size int64) {
	last := ""
	for i := range tensors {
		x := &tensors[i]
		if x.Name == "" || i > 0 && x.Name <= last {
			t.Fatalf("name %q after %q", x.Name, last)
		}
		last = x.Name
		if x.Offset < 0 || x.Size < 0 || x.Offset+x.Size > size || x.Offset+x.Size < x.Offset {
			t.Fatalf("%s lies at %d with %d bytes in a file of %d", x.Name, x.Offset, x.Size, size)
		}
		for _, d := range x.Shape {
			if d < 0 || d > math.MaxInt32 {
				t.Fatalf("%s has shape %v", x.Name, x.Shape)
			}
		}
		if x.Codec == "" && x.Bytes() != x.Size {
			t.Fatalf("%s of shape %v has %d bytes stored", x.Name, x.Shape, x.Size)
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	for _, c := range hostileSafetensors {
		f.Add(c.file)
	}
	f.Add(testfile.Pack(true, bytesOf("a", 3), testfile.Tensor{Name: "b", Type: "BF16", Shape: []int{2, 2}, Data: make([]byte, 8)}))
	f.Add(testfile.Safetensors(`{"__metadata__":{"format":"mlx","x":"\ud83d\ude00"}}  `, nil))
	f.Add(testfile.Safetensors(`{"__metadata__":null}`, nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		_ = bounded(t, func() error {
			tensors, _, err := parseSafetensors("f", bytes.NewReader(file), int64(len(file)))
			if err == nil {
				checkTensors(t, tensors, int64(len(file)))
			}
			return err
		})
	})
}

func FuzzGGUF(f *testing.F) {
	for _, c := range hostileGGUF {
		f.Add(c.file)
	}
	f.Add(small().Bytes())
	f.Add(small().Set("llama.rope.scaling.type", "yarn").Set("llama.rope.scaling.factor", 4.0).Set("general.alignment", 64).Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		_ = bounded(t, func() error {
			m, infos, err := parseGGUF("f", bytes.NewReader(file), int64(len(file)))
			if err != nil {
				return err
			}
			for _, key := range m.Keys() {
				_, _ = m.Value(key)
				_, _ = m.Texts(key)
				_, _ = m.Ints(key)
				_, _ = m.Floats(key)
			}
			_, _ = m.Tokenizer()
			ck, err := mapGGUF(m, infos)
			if err == nil {
				checkTensors(t, ck.Tensors, int64(len(file)))
			}
			return err
		})
	})
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{`{}`, `{"quantization": {"group_size": 64, "bits": 4, "a": false, "b": {"bits": 8}}}`, `{"a": [1, 2.5, NaN, -Infinity, "\ud83d\ude00"]}`,
		`{"quantization_config": {"quant_method": "modelopt", "quantization": {"quant_algo": "NVFP4"}}}`, `{"a": {"__float__": "NaN"}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = bounded(t, func() error {
			c, err := parseConfig("config.json", strings.NewReader(text))
			if err != nil {
				return err
			}
			_, _ = c.TokenIDs("eos_token_id")
			_, _, err = readQuantization(c)
			return err
		})
	})
}
