package weights

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// blockWeights is the number of weights of a GGUF block, and MLX's group size of what it becomes.
const blockWeights = 32

// codec unpacks blocks of a GGUF type into MLX's affine layout: for each block, codes of bits each packed into uint32
// with the first lowest, a float16 scale and a float16 bias; weight = scale * code + bias. The outputs may be nil.
type codec struct {
	blockBytes int // stored
	codeBytes  int // of one block's codes
	unpack     func(codes, scales, biases, blocks []byte)
}

// codecs by the name that package header gives, without the part. The layouts are ggml's (ggml-common.h), and the results
// bit for bit those of MLX's own loader (mlx/io/gguf_quants.cpp).
var codecs = map[string]codec{
	"q4_0": {18, 16, unpackQ4_0},
	"q4_1": {20, 16, unpackQ4_1},
	"q8_0": {34, 32, unpackQ8_0},
}

// splitCodec takes "q4_1.weight" apart.
func splitCodec(name string) (codec, string, error) {
	kind, part, _ := strings.Cut(name, ".")
	c, ok := codecs[kind]
	if !ok || part != "weight" && part != "scales" && part != "biases" {
		return codec{}, "", fmt.Errorf("stored in a way (%q) that cannot be unpacked", name)
	}
	return c, part, nil
}

// unpackQ4_0 reads |f16 scale|16 bytes of codes|: weight = scale * (code - 8).
func unpackQ4_0(codes, scales, biases, blocks []byte) {
	for i := 0; len(blocks) >= 18; i++ {
		b := blocks[:18]
		blocks = blocks[18:]
		putScale(scales, i, b)
		putBias(biases, i, b, 3)
		if codes != nil {
			interleave((*[16]byte)(codes[16*i:]), (*[16]byte)(b[2:]))
		}
	}
}

// unpackQ4_1 reads |f16 scale|f16 bias|16 bytes of codes|: weight = scale * code + bias.
func unpackQ4_1(codes, scales, biases, blocks []byte) {
	for i := 0; len(blocks) >= 20; i++ {
		b := blocks[:20]
		blocks = blocks[20:]
		putScale(scales, i, b)
		if biases != nil {
			biases[2*i], biases[2*i+1] = b[2], b[3]
		}
		if codes != nil {
			interleave((*[16]byte)(codes[16*i:]), (*[16]byte)(b[4:]))
		}
	}
}

// unpackQ8_0 reads |f16 scale|32 signed bytes|: weight = scale * byte, and the code is the byte plus 128.
func unpackQ8_0(codes, scales, biases, blocks []byte) {
	for i := 0; len(blocks) >= 34; i++ {
		b := blocks[:34]
		blocks = blocks[34:]
		putScale(scales, i, b)
		putBias(biases, i, b, 7)
		if codes != nil {
			out := codes[32*i : 32*i+32]
			for k := 0; k < 32; k += 8 {
				binary.LittleEndian.PutUint64(out[k:], binary.LittleEndian.Uint64(b[2+k:])^0x8080808080808080)
			}
		}
	}
}

func putScale(scales []byte, i int, block []byte) {
	if scales != nil {
		scales[2*i], scales[2*i+1] = block[0], block[1]
	}
}

func putBias(biases []byte, i int, block []byte, shift int) {
	if biases != nil {
		binary.LittleEndian.PutUint16(biases[2*i:], minusTimes(binary.LittleEndian.Uint16(block), shift))
	}
}

// interleave puts 4-bit codes in order. ggml stores code k beside code k+16, low and high half of byte k; MLX wants code
// 2k beside code 2k+1.
func interleave(out, in *[16]byte) {
	const low = 0x0f0f0f0f0f0f0f0f
	a, b := binary.LittleEndian.Uint64(in[:8]), binary.LittleEndian.Uint64(in[8:])
	binary.LittleEndian.PutUint64(out[:8], pairs(a&low)|pairs(b&low)<<32)
	binary.LittleEndian.PutUint64(out[8:], pairs(a>>4&low)|pairs(b>>4&low)<<32)
}

// pairs packs the low halves of 8 bytes into 4.
func pairs(x uint64) uint64 {
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return (x | x>>16) & 0xffffffff
}

// minusTimes multiplies a float16 by -(2^shift), exactly or to infinity; a NaN becomes MLX's.
func minusTimes(h uint16, shift int) uint16 {
	sign, exponent, mantissa := h&0x8000, int(h>>10&31), h&0x3ff
	switch {
	case exponent == 31 && mantissa != 0:
		return sign | 0x7d00
	case exponent == 0:
		if mantissa == 0 {
			return sign ^ 0x8000
		}
		wide := uint32(mantissa) << shift // in units of 2^-24
		for exponent = 1; wide >= 0x800; exponent++ {
			wide >>= 1
		}
		if wide < 0x400 {
			exponent = 0
		}
		// Shifting out loses nothing: mantissa has 10 bits at most, and wide keeps 11.
		mantissa = uint16(wide & 0x3ff)
	default:
		exponent = min(exponent+shift, 31)
		if exponent == 31 {
			mantissa = 0
		}
	}
	return (sign ^ 0x8000) | uint16(exponent)<<10 | mantissa
}
