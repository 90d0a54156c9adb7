// Package testfile writes small checkpoints for tests, right ones and wrong ones.
package testfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
)

// Safetensors is a file of a JSON header, as it is given, and data.
func Safetensors(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

// Tensor is a tensor to be written.
type Tensor struct {
	Name, Type string // a safetensors type
	Kind       uint32 // or a GGUF type's number
	Shape      []int  // outermost first
	Data       []byte
}

// Pack is a safetensors file of tensors in order; pad adds spaces to the header until its end is a multiple of 8.
func Pack(pad bool, tensors ...Tensor) []byte {
	var b strings.Builder
	var data []byte
	b.WriteByte('{')
	for i, t := range tensors {
		if i > 0 {
			b.WriteByte(',')
		}
		shape, err := json.Marshal(append([]int{}, t.Shape...))
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, `%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, t.Name, t.Type, shape, len(data), len(data)+len(t.Data))
		data = append(data, t.Data...)
	}
	b.WriteByte('}')
	for pad && b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	return Safetensors(b.String(), data)
}

// GGUF builds a GGUF file. The fields may be set to what no right file has.
type GGUF struct {
	Version        uint32 // 0: 3
	Tensors, Pairs uint64 // counts; 0: as many as there are
	Align          int    // 0: 32

	pairs, infos, data bytes.Buffer
	npairs, ninfos     uint64
}

func text(b *bytes.Buffer, s string) {
	b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
	b.WriteString(s)
}

// Set adds a metadata pair: uint32 of int, float32 of float64, bool, string, arrays of string, int32 of []int32.
func (g *GGUF) Set(key string, v any) *GGUF {
	le := binary.LittleEndian
	text(&g.pairs, key)
	g.npairs++
	kind := func(k uint32) { g.pairs.Write(le.AppendUint32(nil, k)) }
	switch v := v.(type) {
	case int:
		kind(4)
		kind(uint32(v))
	case float64:
		kind(6)
		_ = binary.Write(&g.pairs, le, float32(v))
	case bool:
		kind(7)
		_ = binary.Write(&g.pairs, le, v)
	case string:
		kind(8)
		text(&g.pairs, v)
	case []string:
		kind(9)
		kind(8)
		g.pairs.Write(le.AppendUint64(nil, uint64(len(v))))
		for _, s := range v {
			text(&g.pairs, s)
		}
	case []int32:
		kind(9)
		kind(5)
		g.pairs.Write(le.AppendUint64(nil, uint64(len(v))))
		_ = binary.Write(&g.pairs, le, v)
	case []byte: // type and value, as they are
		g.pairs.Write(v)
	default:
		panic(fmt.Sprintf("no way to write %T", v))
	}
	return g
}

// Add adds a tensor after those before it, aligned.
func (g *GGUF) Add(t Tensor) *GGUF {
	for g.data.Len()%g.align() != 0 {
		g.data.WriteByte(0)
	}
	g.Info(t, uint64(g.data.Len()))
	g.data.Write(t.Data)
	return g
}

// Info adds a row of the tensor table by itself.
func (g *GGUF) Info(t Tensor, offset uint64) *GGUF {
	le := binary.LittleEndian
	text(&g.infos, t.Name)
	g.infos.Write(le.AppendUint32(nil, uint32(len(t.Shape))))
	for i := range t.Shape {
		g.infos.Write(le.AppendUint64(nil, uint64(t.Shape[len(t.Shape)-1-i])))
	}
	g.infos.Write(le.AppendUint32(nil, t.Kind))
	g.infos.Write(le.AppendUint64(nil, offset))
	g.ninfos++
	return g
}

func (g *GGUF) align() int {
	if g.Align == 0 {
		return 32
	}
	return g.Align
}

// Bytes is the file.
func (g *GGUF) Bytes() []byte {
	le := binary.LittleEndian
	or := func(a, b uint64) uint64 {
		if a != 0 {
			return a
		}
		return b
	}
	b := []byte("GGUF")
	b = le.AppendUint32(b, uint32(or(uint64(g.Version), 3)))
	b = le.AppendUint64(b, or(g.Tensors, g.ninfos))
	b = le.AppendUint64(b, or(g.Pairs, g.npairs))
	b = append(append(b, g.pairs.Bytes()...), g.infos.Bytes()...)
	for len(b)%g.align() != 0 {
		b = append(b, 0)
	}
	return append(b, g.data.Bytes()...)
}

// Llama is the metadata of a small llama: 1 layer, width 64, 2 heads of 32 with 1 for k and v.
func Llama() *GGUF {
	return new(GGUF).Set("general.architecture", "llama").Set("llama.block_count", 1).Set("llama.context_length", 128).
		Set("llama.embedding_length", 64).Set("llama.feed_forward_length", 96).Set("llama.attention.head_count", 2).
		Set("llama.attention.head_count_kv", 1).Set("llama.attention.layer_norm_rms_epsilon", 1e-5).Set("llama.rope.freq_base", 10000.0).
		Set("tokenizer.ggml.model", "gpt2").Set("tokenizer.ggml.pre", "smollm").Set("tokenizer.ggml.tokens", []string{"a", "b", "ab", "é"}).
		Set("tokenizer.ggml.token_type", []int32{1, 1, 1, 3}).Set("tokenizer.ggml.merges", []string{"a b"}).Set("tokenizer.ggml.eos_token_id", 3)
}
