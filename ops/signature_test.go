package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// The classes that the language names (docs of the language, section 9).
var wantedClasses = []string{"affine", "affine.dense", "affine.mma", "affine.rows", "ane.affine_split", "ane.mlp_split", "dense", "dense.rows", "experts.rows",
	"experts.streamed", "exl3", "exl3.expand", "exl3.gemm", "exl3.gemv", "gate_up.unfused", "kv.decode4", "kv.folded", "mlp.fused", "mlp.gate_down", "mlp.unfused", "trellis", "trellis.down", "trellis.down_mma",
	"trellis.expand_reduce", "trellis.expand_scatter", "trellis.gate_up", "trellis.gate_up_fused", "trellis.gate_up_mma", "trellis.reduce", "trellis.scatter"}

func TestDefaultHasEveryClass(t *testing.T) {
	r, err := Default()
	require.NoError(t, err)
	for _, name := range wantedClasses {
		require.NotNil(t, r.Class(name), name)
	}
}

func TestSignaturesAccept(t *testing.T) {
	affine := func(bits, group, in, out int) plan.Facts {
		return plan.Facts{Storage: "affine", Dtype: dtype.Bfloat16, Mode: "affine", Bits: bits, Group: group, Inputs: in, Outputs: out}
	}
	codes := func(bits, axis int, layout string) plan.Facts {
		return plan.Facts{Storage: "trellis", Dtype: dtype.Float16, Mode: "trellis", Bits: bits, Group: 256, Axis: axis, Layout: layout, Inputs: 1024, Outputs: 2048}
	}
	tiles := func(bits int) plan.Facts {
		return plan.Facts{Storage: "exl3", Dtype: dtype.Float16, Mode: "mcg", Bits: bits, Group: 256, Layout: "tiles", Inputs: 1000, Outputs: 2048}
	}
	one := func(f plan.Facts) map[string]plan.Facts { return map[string]plan.Facts{"weight": f} }
	pair := func(gate, up plan.Facts) map[string]plan.Facts {
		return map[string]plan.Facts{"gate_proj": gate, "up_proj": up}
	}
	mlp := func(gate, up, down plan.Facts) map[string]plan.Facts {
		return map[string]plan.Facts{"gate_proj": gate, "up_proj": up, "down_proj": down}
	}
	dense := plan.Facts{Storage: "dense", Dtype: dtype.Bfloat16, Inputs: 1024, Outputs: 2048}
	mx := affine(4, 32, 1024, 2048)
	mx.Mode = "mxfp4"
	biased := affine(4, 64, 1024, 2048)
	biased.Bias = true
	for _, c := range []struct {
		name, class, kind string
		weights           map[string]plan.Facts
		err               string
	}{
		{"3 bits", "affine.rows", "linear", one(affine(3, 64, 1024, 2048)), ""},
		{"mode", "affine.rows", "linear", one(mx), "weight has mode 'mxfp4'; mode affine is wanted"},
		{"bits", "affine.mma", "linear", one(affine(8, 64, 1024, 2048)), "weight has 8 bits; 3 or 4 are wanted"},
		{"group", "affine.mma", "linear", one(affine(4, 32, 1024, 2048)), "weight has groups of 32; groups of 64 are wanted"},
		{"tiles", "affine.mma", "linear", one(affine(4, 64, 1024, 2044)), "weight has 2044 outputs, which 8 does not divide"},
		{"dense", "dense.rows", "head", one(dense), ""},
		{"codes", "trellis", "linear", one(codes(3, 0, "interleaved")), ""},
		{"5 bits", "trellis", "linear", one(codes(5, 0, "row")), "weight has 5 bits; 2, 3 or 4 are wanted"},
		{"axis 1", "trellis.reduce", "linear", one(codes(2, 1, "row")), ""},
		{"axis 0", "trellis.reduce", "linear", one(codes(2, 0, "row")), "weight is coded along axis 0 (the outputs); axis 1 (the inputs) is wanted"},
		{"scatter", "trellis.scatter", "linear", one(codes(3, 0, "interleaved")), ""},
		{"storage", "trellis.down", "linear", one(dense), "weight is stored as dense; trellis codes are wanted"},
		{"pair", "trellis.gate_up", "gate_up", pair(codes(3, 1, "row"), codes(2, 1, "row")), ""},
		{"pair of affine", "trellis.gate_up_mma", "gate_up", pair(affine(4, 64, 1024, 2048), codes(2, 1, "row")), "gate_proj is stored as affine; trellis codes are wanted"},
		{"one weight", "trellis.gate_up", "gate_up", map[string]plan.Facts{"weight": codes(3, 1, "row")}, "there is no gate_proj; the port has weight"},
		{"split", "ane.affine_split", "linear", one(affine(4, 64, 1024, 2048)), ""},
		{"split with a bias", "ane.affine_split", "linear", one(biased), "weight has a bias, which the split does not add"},
		{"narrow split", "ane.affine_split", "linear", one(affine(4, 64, 1024, 96)), "96 outputs; a split has 64 on each side at least"},
		{"split mlp", "ane.mlp_split", "mlp", mlp(codes(3, 1, "row"), codes(2, 1, "row"), codes(3, 0, "interleaved")), ""},
		{"split mlp of affine", "ane.mlp_split", "mlp", mlp(affine(4, 64, 1024, 2048), codes(2, 1, "row"), codes(3, 0, "row")), "gate_proj is stored as affine; trellis codes are wanted"},
		{"fused", "mlp.fused", "mlp", mlp(affine(4, 64, 1024, 2048), affine(4, 64, 1024, 2048), codes(3, 0, "interleaved")), ""},
		{"fused of one weight", "mlp.fused", "mlp", map[string]plan.Facts{"gate_up": affine(4, 64, 1024, 4096), "down_proj": affine(6, 64, 2048, 1024)}, ""},
		{"fused of one weight along the outputs", "mlp.fused", "mlp", map[string]plan.Facts{"gate_up": codes(3, 0, "row"), "down_proj": affine(6, 64, 2048, 1024)},
			"gate_up is coded along axis 0 (the outputs); axis 1 (the inputs) is wanted"},
		{"fused of dense weights", "mlp.fused", "mlp", mlp(affine(4, 64, 1024, 2048), dense, dense), "up_proj is stored as dense; affine weights and trellis codes are taken"},
		{"tiles", "exl3", "head", one(tiles(6)), ""},
		{"rows", "exl3", "linear", one(codes(3, 1, "row")), "weight is stored as trellis; exl3 is wanted"},
		{"tiles for a few rows", "exl3.gemv", "linear", one(tiles(6)), "weight has 6 bits; 2, 3 or 4 are wanted"},
		{"tiles", "trellis", "linear", one(tiles(3)), "weight is stored as exl3; trellis codes are wanted"},
		{"cache", "kv.folded", registry.StateRead, map[string]plan.Facts{"state": {Storage: "affine", Bits: 4, Group: 64}}, ""},
		{"plain cache", "kv.folded", registry.StateRead, map[string]plan.Facts{"state": {Storage: "plain"}}, "the cache is stored as plain; affine, 4 bits in groups of 64, is wanted"},
		{"cache of 8 bits", "kv.decode4", registry.StateRead, map[string]plan.Facts{"state": {Storage: "affine", Bits: 8, Group: 64}}, "the cache has 8 bits in groups of 64; 4 bits in groups of 64 are wanted"},
	} {
		t.Run(c.class+"/"+c.name, func(t *testing.T) {
			r, err := Default()
			require.NoError(t, err)
			class := r.Class(c.class)
			require.True(t, class.Takes(c.kind))
			err = class.Accept(c.kind, c.weights)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}

// TestSignaturesAreTold: a class that this build cannot run says so, and for which device it is.
func TestSignaturesAreTold(t *testing.T) {
	r, err := Default()
	require.NoError(t, err)
	split := r.Class("ane.affine_split")
	require.False(t, split.HasKernel("gpu"))
	require.Equal(t, "none in this build: a signature, to compose with", split.KernelText())
	require.EqualError(t, split.Suits("gpu", false), "it needs a Neural Engine, which this device does not have")
	require.NoError(t, split.Suits("gpu", true))
	require.EqualError(t, r.Class("kv.folded").Suits("cpu", false), "it is for a gpu; this device is a cpu")
	require.True(t, r.Class("affine").HasKernel("gpu"))
	require.False(t, r.ExactClass("linear", "exl3").HasKernel("gpu"))
	require.EqualError(t, split.AcceptArgs(plan.Args{{Name: "fraction", Value: floatValue(1)}, {Name: "slices", Value: intValue(1)}}),
		"fraction: a share lies between 0 and 1; this is 1")
}
