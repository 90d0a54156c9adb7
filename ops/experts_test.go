package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
)

func TestAcceptExperts(t *testing.T) {
	plain := func(out, in int) plan.Facts {
		return plan.Facts{Storage: "dense", Dtype: dtype.Bfloat16, Inputs: in, Outputs: out, Count: 8}
	}
	packed := func(out, in int) plan.Facts {
		return plan.Facts{Storage: "affine", Dtype: dtype.Bfloat16, Mode: "affine", Bits: 4, Group: 64, Inputs: in, Outputs: out, Count: 8}
	}
	with := func(f plan.Facts, change func(*plan.Facts)) plan.Facts { change(&f); return f }
	type parts map[string]plan.Facts
	r, err := Default()
	require.NoError(t, err)
	for _, c := range []struct {
		name, class string
		weights     parts
		err         string
	}{
		{"dense", "dense", parts{"gate_proj": plain(256, 64), "up_proj": plain(256, 64), "down_proj": plain(64, 256)}, ""},
		{"quantised", "affine", parts{"gate_proj": packed(256, 64), "up_proj": packed(256, 64), "down_proj": packed(64, 256)}, ""},
		{"fused", "affine", parts{"gate_up": packed(512, 64), "down_proj": packed(64, 256)}, ""},
		{"mixed", "affine", parts{"gate_proj": packed(40, 64), "up_proj": packed(40, 64), "down_proj": plain(64, 40)}, ""},
		{"biases", "dense", parts{"gate_up": with(plain(512, 64), func(f *plan.Facts) { f.Bias = true }), "down_proj": plain(64, 256)}, ""},
		{"another class's", "dense", parts{"gate_up": packed(512, 64), "down_proj": packed(64, 256)}, "none of the weights is stored as dense"},
		{"trellis", "affine", parts{"gate_up": with(packed(512, 64), func(f *plan.Facts) { f.Storage = "trellis" }), "down_proj": packed(64, 256)},
			"gate_up is stored as trellis; experts take dense weights and MLX's quantised layout"},
		{"one matrix", "dense", parts{"gate_up": with(plain(512, 64), func(f *plan.Facts) { f.Count = 0 }), "down_proj": plain(64, 256)},
			"gate_up is one matrix; a port of kind experts has one per expert, [count, out, in]"},
		{"bits", "affine", parts{"gate_up": with(packed(512, 64), func(f *plan.Facts) { f.Bits = 7 }), "down_proj": packed(64, 256)},
			"gate_up has 7 bits; mode affine takes 2, 3, 4, 5, 6 or 8"},
		{"integers", "dense", parts{"gate_up": plain(512, 64), "down_proj": with(plain(64, 256), func(f *plan.Facts) { f.Dtype = dtype.Uint8 })},
			"down_proj is uint8; a floating dtype is wanted"},
		{"no up", "dense", parts{"gate_proj": plain(256, 64), "down_proj": plain(64, 256)},
			"experts have a gate_proj and an up_proj, or one gate_up; there is no up_proj"},
		{"no down", "dense", parts{"gate_up": plain(512, 64)}, "experts have a down_proj"},
		{"count", "dense", parts{"gate_up": plain(512, 64), "down_proj": with(plain(64, 256), func(f *plan.Facts) { f.Count = 4 })},
			"gate_up has 8 experts and down_proj 4; as many are wanted"},
		{"width", "dense", parts{"gate_up": plain(256, 64), "down_proj": plain(64, 256)},
			"gate_up is [256, 64] an expert, which does not go with down_proj [64, 256]"},
	} {
		t.Run(c.class+"/"+c.name, func(t *testing.T) {
			err := r.Class(c.class).Accept("experts", c.weights)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
	require.Equal(t, "dense", r.ExactClass("experts", "dense").Name)
	require.Equal(t, "affine", r.ExactClass("experts", "affine").Name)
}
