package trellis

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// halfBits are the bits of a float16 that is in a float32.
func halfBits(v float32) uint16 {
	b := math.Float32bits(v)
	if b&0x7fffffff == 0 {
		return uint16(b >> 16)
	}
	return uint16(b>>16&0x8000 | (b>>23&0xff-112)<<10 | b>>13&0x3ff)
}

// TestTileCodes holds the codes to their checksums: all 65536 values, float16, little-endian.
func TestTileCodes(t *testing.T) {
	for code, want := range map[string]struct {
		crc   uint32
		first [3]uint16
		rms   float64
	}{
		Code3Inst: {0x4c83d524, [3]uint16{0x3a25, 0xbb5b, 0x3b74}, 1.243711},
		CodeMCG:   {0xd2d13c52, [3]uint16{0x3f60, 0x304e, 0xba13}, 1.244112},
		CodeMUL1:  {0x2bdf05c5, [3]uint16{0xc2e8, 0x3921, 0xb72d}, 1.000312},
	} {
		var b []byte
		sum := 0.0
		for s := range 1 << 16 {
			v := TileValue(code, uint16(s))
			sum += float64(v) * float64(v)
			b = binary.LittleEndian.AppendUint16(b, halfBits(v))
		}
		for s, bits := range want.first {
			require.Equal(t, bits, binary.LittleEndian.Uint16(b[2*s:]), "%s of %d", code, s)
		}
		require.InDelta(t, want.rms, math.Sqrt(sum/(1<<16)), 1e-6, code)
		require.Equal(t, want.crc, crc32.ChecksumIEEE(b), code)
	}
}

// TestTiles: states and values of one tile, halves[i] = 40503 i + 12345.
func TestTiles(t *testing.T) {
	for i, want := range [][2]uint32{
		{0x7662fa40, 0xc224991f}, {0x0cc14928, 0x96fc911a}, {0xc40d3fe6, 0x2afabe76}, {0xb1948730, 0x91a38e6a},
		{0xa766dcec, 0x512c6c01}, {0x86fa3adb, 0x8cfa064b}, {0x84d184d4, 0x959b88f4}, {0x43eb63ed, 0xa5bc8185},
	} {
		bits := i + 1
		tile := make([]uint16, 16*bits)
		for n := range tile {
			tile[n] = uint16(40503*n + 12345)
		}
		var states, values []byte
		at := map[[2]int]float32{}
		for n := range TileWeights {
			s := TileState(tile, n)
			states = binary.LittleEndian.AppendUint16(states, s)
			input, output := TilePlace(n)
			at[[2]int{input, output}] = TileValue(CodeMCG, s)
			require.Equal(t, s&(1<<(16-bits)-1), TileState(tile, (n+1)%TileWeights)>>bits, "the ring holds")
		}
		for n := range TileWeights {
			values = binary.LittleEndian.AppendUint16(values, halfBits(at[[2]int{n / 16, n % 16}]))
		}
		require.Equal(t, want[0], crc32.ChecksumIEEE(states), "%d bits", bits)
		require.Equal(t, want[1], crc32.ChecksumIEEE(values), "%d bits", bits)
	}
}

func TestDecodeTiles(t *testing.T) {
	g := Tiles{Bits: 3, Code: CodeMUL1, Inputs: 100, Outputs: 200}
	require.Equal(t, []int{8, 16, 48}, g.Shape())
	codes := make([]uint16, 8*16*48)
	for i := range codes {
		codes[i] = uint16(40503*i + 12345)
	}
	out, err := DecodeTiles(g, codes)
	require.NoError(t, err)
	require.Len(t, out, 128*256)
	tile := codes[(2*16+3)*48:][:48] // inputs from 32, outputs from 48
	input, output := TilePlace(77)
	require.Equal(t, TileValue(CodeMUL1, TileState(tile, 77)), out[(32+input)*256+48+output])

	_, err = DecodeTiles(g, codes[1:])
	require.EqualError(t, err, "6143 halves of codes; 128 x 256 weights of 3 bits have 6144")
	g.Bits = 9
	_, err = DecodeTiles(g, codes)
	require.EqualError(t, err, "exl3 tiles of 9 bits; there are 1 to 8")
}
