package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
)

func TestAccept(t *testing.T) {
	quantised := func(mode string, bits, group int) plan.Facts {
		return plan.Facts{Storage: "affine", Dtype: dtype.Bfloat16, Mode: mode, Bits: bits, Group: group, Inputs: 256, Outputs: 64}
	}
	plain := plan.Facts{Storage: "dense", Dtype: dtype.Bfloat16, Inputs: 256, Outputs: 64}
	with := func(f plan.Facts, change func(*plan.Facts)) plan.Facts { change(&f); return f }
	r, err := Default()
	require.NoError(t, err)
	for _, c := range []struct {
		name, class, kind string
		facts             plan.Facts
		err               string
	}{
		{"dense", "dense", "linear", plain, ""},
		{"bias", "dense", "head", with(plain, func(f *plan.Facts) { f.Bias = true }), ""},
		{"heads", "dense", "multi_linear", with(plain, func(f *plan.Facts) { f.Count = 4 }), ""},
		{"one matrix", "dense", "multi_linear", plain, "weight is one matrix; a multi_linear port has one per head, [count, out, in]"},
		{"integers", "dense", "linear", with(plain, func(f *plan.Facts) { f.Dtype = dtype.Uint32 }), "weight is uint32; a floating dtype is wanted"},
		{"quantised", "dense", "linear", quantised("affine", 4, 64), "weight is stored as affine; dense takes dense weights"},
		{"embedding with a bias", "dense", "embedding", with(plain, func(f *plan.Facts) { f.Bias = true }), "weight has a bias, which a port of kind embedding does not add"},
		{"4 bits", "affine", "linear", quantised("affine", 4, 64), ""},
		{"3 bits", "affine", "embedding", quantised("affine", 3, 128), ""},
		{"mxfp4", "affine", "linear", quantised("mxfp4", 4, 32), ""},
		{"mxfp8", "affine", "head", quantised("mxfp8", 8, 32), ""},
		{"nvfp4", "affine", "linear", quantised("nvfp4", 4, 16), ""},
		{"7 bits", "affine", "linear", quantised("affine", 7, 64), "weight has 7 bits; mode affine takes 2, 3, 4, 5, 6 or 8"},
		{"group", "affine", "linear", quantised("affine", 4, 16), "weight has groups of 16; mode affine takes 32, 64 or 128"},
		{"nvfp4 group", "affine", "linear", quantised("nvfp4", 4, 32), "weight has groups of 32; mode nvfp4 takes 16"},
		{"mode", "affine", "linear", quantised("awq", 4, 64), "weight has mode 'awq'; affine, mxfp4, mxfp8 and nvfp4 are accepted"},
		{"width", "affine", "linear", with(quantised("affine", 4, 64), func(f *plan.Facts) { f.Inputs = 100 }), "weight has 100 inputs, which groups of 64 do not divide"},
		{"dense", "affine", "linear", plain, "weight is stored as dense; affine takes weights in MLX's quantised layout"},
	} {
		t.Run(c.class+"/"+c.name, func(t *testing.T) {
			err := r.Class(c.class).Accept(c.kind, map[string]plan.Facts{"weight": c.facts})
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}
