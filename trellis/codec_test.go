package trellis

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCode holds the code to its checksum: the 4096 float32 values, little-endian.
func TestCode(t *testing.T) {
	var b []byte
	distinct := map[int]bool{}
	for s := range uint32(1 << StateBits) {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(Value(s)))
		distinct[Integer(s)] = true
	}
	require.Equal(t, uint32(0x21d1103c), crc32.ChecksumIEEE(b))
	require.Len(t, distinct, 713)
	require.InDelta(t, 1.0041072, RMS(), 5e-8)
	for s, y := range map[uint32]int{0: -185, 1: -124, 2: -63, 255: 68, 1000: 118, 4095: 188} {
		require.Equal(t, y, Integer(s), "state %d", s)
	}
}

// golden are the checksums of the states of one block of 256 weights, words[i] = 2654435761 i + 97.
var golden = []struct {
	bits         int
	crc          uint32
	s0, s1, s255 uint32
}{
	{2, 0xc114cced, 389, 1556, 97},
	{3, 0x4d7bfae0, 777, 2125, 97},
	{4, 0x16933449, 1554, 296, 97},
}

func goldenBlock(bits, weights int) []uint32 {
	out := make([]uint32, weights*bits/32)
	for i := range out {
		out[i] = 2654435761*uint32(i) + 97
	}
	return out
}

func TestStates(t *testing.T) {
	for _, g := range golden {
		block := goldenBlock(g.bits, 256)
		var b []byte
		states := make([]uint32, 256)
		for i := range states {
			states[i] = State(block, g.bits, i)
			b = binary.LittleEndian.AppendUint16(b, uint16(states[i]))
		}
		require.Equal(t, g.crc, crc32.ChecksumIEEE(b), "%d bits", g.bits)
		require.Equal(t, []uint32{g.s0, g.s1, g.s255}, []uint32{states[0], states[1], states[255]})
		for i := range states { // the ring holds
			require.Equal(t, states[i]&(1<<(StateBits-g.bits)-1), states[(i+1)%256]>>g.bits)
		}
		again := make([]uint32, len(block))
		require.NoError(t, Pack(again, g.bits, states))
		require.Equal(t, block, again)
	}
	require.EqualError(t, Pack(make([]uint32, 4), 3, make([]uint32, 64)), "64 states of 3 bits do not fill 4 words")
}

func TestDecode(t *testing.T) {
	g := Geometry{Bits: 3, Block: 256, Axis: 0, Layout: Row, Rows: 3, Columns: 1024}
	codes := goldenBlock(3, g.Rows*g.Columns)
	scales := []float32{1, 0.5, -2}
	plain, err := Decode(g, codes, scales)
	require.NoError(t, err)
	require.Equal(t, Value(State(codes[:24], 3, 0)), plain[0])
	require.Equal(t, Value(State(codes[11*24:12*24], 3, 255))*-2, plain[len(plain)-1])

	turned, err := Interleave(g, codes)
	require.NoError(t, err)
	require.Equal(t, codes[24:48], turned[24:48], "the second block of the first row lies beside the first")
	require.Equal(t, codes[4*24:6*24], turned[48:96], "then the second row")
	g.Layout = Interleaved
	require.Equal(t, []int{2, 3, 48}, g.Shape())
	same, err := Decode(g, turned, scales)
	require.NoError(t, err)
	require.Equal(t, plain, same)
	_, err = Decode(g, turned[1:], scales)
	require.EqualError(t, err, "287 codes and 3 scales; trellis 3 bits block 256 axis 0 interleaved of 3 x 1024 has 288 and 3")
}

func TestGeometry(t *testing.T) {
	for _, c := range []struct {
		name string
		g    Geometry
		err  string
	}{
		{"as it should be", Of(4, 64, 1, Row, 1536, 576), ""},
		{"interleaved", Of(3, 256, 0, Interleaved, 1024, 576), ""},
		{"bits", Of(5, 64, 1, Row, 8, 64), "trellis codes of 5 bits; 2, 3 and 4 are read"},
		{"axis", Geometry{4, 64, 2, Row, 8, 64}, "trellis axis 2; it is 0 (coded along the outputs) or 1 (along the inputs)"},
		{"block", Of(4, 100, 1, Row, 8, 100), "trellis blocks of 100 weights; a block has a multiple of 32, from 64 to 1024"},
		{"inputs", Of(4, 256, 1, Row, 8, 576), "576 inputs are no multiple of trellis blocks of 256"},
		{"outputs", Of(4, 256, 0, Row, 576, 8), "576 outputs are no multiple of trellis blocks of 256"},
		{"layout", Of(4, 64, 1, "tiles", 8, 64), `trellis layout "tiles"; there are row and interleaved`},
		{"interleaved, other bits", Of(4, 256, 0, Interleaved, 1024, 8), "the interleaved layout is for 3 bits, blocks of 256 and axis 0; these are 4 bits, blocks of 256, axis 0"},
		{"interleaved, odd blocks", Of(3, 256, 0, Interleaved, 768, 8), "768 outputs are no multiple of 512, which the interleaved layout takes"},
		{"nothing", Of(4, 64, 1, Row, 0, 64), "a matrix of 0 x 64 has no weights"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.err == "" {
				require.NoError(t, c.g.Check())
				return
			}
			require.EqualError(t, c.g.Check(), c.err)
		})
	}
}

func TestScale(t *testing.T) {
	require.InDelta(t, RMS(), rms, 1e-8)
	row := func(v float32) []float32 { return []float32{v, -v, v, v} }
	for _, c := range []struct {
		name string
		row  []float32
		half uint16
		want float32
	}{
		{"zeros", row(0), 0x3c00, 1},
		{"one", row(1.0041072), 0x3c00, 1},
		{"a third", row(1.0041072 / 3), 0x3555, 0.333251953125},
		{"rounded up to the next power", row(1.0041072 * 2047.9), 0x6800, 2048},
		{"subnormal", row(1.0041072e-7), 2, 2.0 / (1 << 24)},
		{"below every float16", row(1e-20), 1, 1.0 / (1 << 24)},
		{"the largest", row(1.0041072 * 65504), 0x7bff, 65504},
	} {
		half, value, err := Scale(c.row)
		require.NoError(t, err, c.name)
		require.Equal(t, c.half, half, c.name)
		require.Equal(t, c.want, value, c.name)
	}
	_, _, err := Scale(row(70000))
	require.EqualError(t, err, "its weights are too large for a float16 scale: root mean square 7e+04")
	_, _, err = Scale([]float32{0, float32(math.NaN())})
	require.EqualError(t, err, "its weight 1 is NaN")
}

func TestLarger(t *testing.T) {
	row := make([]float32, 256)
	for i := range row {
		row[i] = float32(i%2*2 - 1)
	}
	_, scale, err := Scale(row)
	require.NoError(t, err)
	_, none := Larger(row, scale)
	require.Empty(t, none)
	row[7] = 20
	_, scale, err = Scale(row)
	require.NoError(t, err)
	halves, scales := Larger(row, scale)
	require.Len(t, halves, 5)
	require.InDelta(t, math.Sqrt2*scale, scales[0], 1e-3)
	require.InDelta(t, 20/Largest, scales[4], 1e-2)
}
