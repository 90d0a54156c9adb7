package header

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/weights/internal/testfile"
)

// BenchmarkSafetensors reads the largest header that is read.
func BenchmarkSafetensors(b *testing.B) {
	var text strings.Builder
	text.WriteByte('{')
	for i := range MaxTensors {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `"model.layers.%d.mlp.experts.%d.up_proj.weight":{"dtype":"BF16","shape":[%d,7],"data_offsets":[%d,%d]}`, i/100, i%100, 1, 14*i, 14*i+14)
	}
	text.WriteByte('}')
	file := testfile.Safetensors(text.String(), make([]byte, 14*MaxTensors))
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := parseSafetensors("f", bytes.NewReader(file), int64(len(file))); err != nil {
			b.Fatal(err)
		}
	}
}
