package weights

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func half(h uint16) float64 {
	sign, e, m := 1-2*float64(h>>15), int(h>>10&31), float64(h&0x3ff)
	switch e {
	case 0:
		return sign * math.Ldexp(m, -24)
	case 31:
		if m != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+m, e-25)
}

func TestMinusTimes(t *testing.T) {
	for h := range 1 << 16 {
		for _, shift := range []int{3, 7} {
			got, want := half(minusTimes(uint16(h), shift)), -half(uint16(h))*float64(int(1)<<shift)
			if math.Abs(want) > 65504 {
				want = math.Inf(int(math.Copysign(1, want)))
			}
			if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != math.Signbit(want) && want == want {
				t.Fatalf("0x%04x * -2^%d: got %v, want %v", h, shift, got, want)
			}
		}
	}
}

// Each codec is compared with the format's definition of a weight: the number itself, not its bits.
func TestUnpack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	value := map[string]func(b []byte, k int) float64{
		"q4_0": func(b []byte, k int) float64 { return half(binary.LittleEndian.Uint16(b)) * (nibble(b[2:], k) - 8) },
		"q4_1": func(b []byte, k int) float64 {
			return half(binary.LittleEndian.Uint16(b))*nibble(b[4:], k) + half(binary.LittleEndian.Uint16(b[2:]))
		},
		"q8_0": func(b []byte, k int) float64 { return half(binary.LittleEndian.Uint16(b)) * float64(int8(b[2+k])) },
	}
	for name, c := range codecs {
		t.Run(name, func(t *testing.T) {
			const n = 17
			blocks := make([]byte, n*c.blockBytes)
			for i := range blocks {
				blocks[i] = byte(rng.Uint32())
			}
			for i := range n { // scales and biases of ordinary size
				b := blocks[i*c.blockBytes:]
				b[1] = b[1]&0x83 | 0x28
				if name == "q4_1" {
					b[3] = b[3]&0x83 | 0x28
				}
			}
			codes, scales, biases := make([]byte, n*c.codeBytes), make([]byte, 2*n), make([]byte, 2*n)
			c.unpack(codes, scales, biases, blocks)
			bits := c.codeBytes * 8 / blockWeights
			for i := range n {
				for k := range blockWeights {
					word := binary.LittleEndian.Uint32(codes[i*c.codeBytes+k*bits/32*4:])
					code := float64(word >> (k * bits % 32) & (1<<bits - 1))
					got := half(binary.LittleEndian.Uint16(scales[2*i:]))*code + half(binary.LittleEndian.Uint16(biases[2*i:]))
					require.Equal(t, value[name](blocks[i*c.blockBytes:], k), got, "weight %d of block %d", k, i)
				}
			}
			again := make([]byte, len(scales))
			c.unpack(nil, again, nil, blocks)
			require.Equal(t, scales, again)
		})
	}
}

func nibble(codes []byte, k int) float64 {
	if k < 16 {
		return float64(codes[k] & 15)
	}
	return float64(codes[k-16] >> 4)
}

func BenchmarkUnpack(b *testing.B) {
	for name, c := range codecs {
		b.Run(name, func(b *testing.B) {
			const n = 1 << 15
			blocks, codes, scales, biases := make([]byte, n*c.blockBytes), make([]byte, n*c.codeBytes), make([]byte, 2*n), make([]byte, 2*n)
			b.SetBytes(int64(len(blocks)))
			for b.Loop() {
				c.unpack(codes, scales, biases, blocks)
			}
		})
	}
}
