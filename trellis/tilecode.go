package trellis

import (
	"fmt"
	"math"
)

// TileState is the state of weight t of a tile, in the order of its symbols: 16 bits of the ring that its halves are, two of
// which are a word with its upper half behind the lower. The first bit is the highest of a word, and of a state.
func TileState(tile []uint16, t int) uint16 {
	total := 16 * len(tile)
	end := (t + 1) * total / TileWeights
	state := uint16(0)
	for i := end - 16; i < end; i++ {
		at := (i + total) % total
		state = state<<1 | tile[at/16^1]>>(15-at%16)&1
	}
	return state
}

// TilePlace is where weight t of a tile lies in it: the order of a matrix unit's operands.
func TilePlace(t int) (input, output int) {
	lane, j := t/8, t%8
	return lane%4*2 + j&1 + j>>1&1*8, lane/4 + j>>2*8
}

// TileValue is what a state stands for, a number of float16: of 3INST and MCG the sum of two such numbers in the bits of a
// product, of MUL1 the sum of its bytes, scaled.
func TileValue(code string, state uint16) float32 {
	s := uint32(state)
	if code == CodeMUL1 {
		x := s * 0x83dcd12d
		sum := x&0xff + x>>8&0xff + x>>16&0xff + x>>24
		return roundedHalf((1774*float64(sum) - 905216) / (1 << 18))
	}
	x := s * 0xcbac1fed
	if code == Code3Inst {
		x = s*89226354 + 64248484
	}
	x = x&0x8fff8fff ^ 0x3b603b60
	return roundedHalf(normalHalf(x&0xffff) + normalHalf(x>>16))
}

// DecodeTiles gives what the codes stand for, [inputs, outputs] as they are filled up, without the rotations and the scales of
// the two sides.
func DecodeTiles(g Tiles, codes []uint16) ([]float32, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	inputs, outputs := g.Padded()
	if len(codes)*16 != inputs*outputs*g.Bits {
		return nil, fmt.Errorf("%d halves of codes; %d x %d weights of %d bits have %d", len(codes), inputs, outputs, g.Bits, inputs*outputs*g.Bits/16)
	}
	values := make([]float32, 1<<16)
	for s := range values {
		values[s] = TileValue(g.Code, uint16(s))
	}
	out := make([]float32, inputs*outputs)
	size := TileWeights * g.Bits / 16
	for n := range len(codes) / size {
		tile := codes[n*size : (n+1)*size]
		row, column := n/(outputs/16)*16, n%(outputs/16)*16
		for t := range TileWeights {
			i, o := TilePlace(t)
			out[(row+i)*outputs+column+o] = values[TileState(tile, t)]
		}
	}
	return out, nil
}

// normalHalf is a float16 that is neither subnormal nor infinite.
func normalHalf(h uint32) float64 {
	v := math.Ldexp(float64(h&0x3ff|0x400), int(h>>10&31)-25)
	if h&0x8000 != 0 {
		return -v
	}
	return v
}

// roundedHalf is the nearest float16 of a number in its normal range, ties to even.
func roundedHalf(v float64) float32 {
	_, exponent := math.Frexp(v)
	return float32(math.Ldexp(math.RoundToEven(math.Ldexp(v, 11-exponent)), exponent-11))
}
