package trellis

import (
	"fmt"
	"math"
)

const (
	stateMask = 1<<StateBits - 1
	divisor   = 147.800537109375
)

// Integer is the integer code of a state, from -510 to 510.
func Integer(state uint32) int {
	x := state*34038481 + 76625530
	return int(x&0xff+x>>8&0xff+x>>16&0xff+x>>24) - 510
}

// Value is the value of a state.
func Value(state uint32) float32 { return float32(Integer(state)) / float32(divisor) }

// RMS is the root mean square of the values of all states: what the rows of a matrix are scaled to before coding.
func RMS() float64 {
	sum := 0.0
	for s := range uint32(1 << StateBits) {
		v := float64(Value(s))
		sum += v * v
	}
	return math.Sqrt(sum / (1 << StateBits))
}

// State is the state of weight t of a block.
func State(block []uint32, bits, t int) uint32 {
	weights := len(block) * 32 / bits
	at := (weights - 1 - t) * bits
	word, shift := at/32, at%32
	s := block[word] >> shift
	if shift+StateBits > 32 {
		s |= block[(word+1)%len(block)] << (32 - shift)
	}
	return s & stateMask
}

// Pack writes the states of one block, of which only the symbols are kept, into its words.
func Pack(block []uint32, bits int, states []uint32) error {
	if len(block)*32 != len(states)*bits {
		return fmt.Errorf("%d states of %d bits do not fill %d words", len(states), bits, len(block))
	}
	clear(block)
	for t, s := range states {
		at := (len(states) - 1 - t) * bits
		s &= 1<<bits - 1
		block[at/32] |= s << (at % 32)
		if at%32+bits > 32 {
			block[at/32+1] |= s >> (32 - at%32)
		}
	}
	return nil
}

// Decode gives the stored matrix S, in row order.
func Decode(g Geometry, codes []uint32, scales []float32) ([]float32, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if len(codes) != g.Words() || len(scales) != g.Rows {
		return nil, fmt.Errorf("%d codes and %d scales; %v of %d x %d has %d and %d", len(codes), len(scales), g, g.Rows, g.Columns, g.Words(), g.Rows)
	}
	out := make([]float32, g.Rows*g.Columns)
	for r := range g.Rows {
		for b := range g.Columns / g.Block {
			at := g.At(r, b)
			block := codes[at : at+g.BlockWords()]
			to := out[r*g.Columns+b*g.Block:][:g.Block]
			for t := range to {
				to[t] = Value(State(block, g.Bits, t)) * scales[r]
			}
		}
	}
	return out, nil
}

// Interleave moves codes from the row layout into the interleaved one.
func Interleave(g Geometry, codes []uint32) ([]uint32, error) {
	from, to := g, g
	from.Layout, to.Layout = Row, Interleaved
	if err := to.Check(); err != nil {
		return nil, err
	}
	if len(codes) != g.Words() {
		return nil, fmt.Errorf("%d codes; %v has %d", len(codes), g, g.Words())
	}
	out := make([]uint32, len(codes))
	for r := range g.Rows {
		for b := range g.Columns / g.Block {
			copy(out[to.At(r, b):][:g.BlockWords()], codes[from.At(r, b):][:g.BlockWords()])
		}
	}
	return out, nil
}
