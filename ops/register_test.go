package ops

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/registry"
)

// The operators that the language names (docs of the language, section 8).
const wanted = `rms_norm layer_norm rope attend update_cache read_cache attention_mask cache_positions mask_scores
split_heads swap_heads merge_heads reshape transpose swapaxes moveaxis expand_dims squeeze slice slice_update take take_along_axis
put_along_axis split stack concatenate broadcast matmul add subtract multiply divide power maximum minimum less logical_and where
negative exp log floor tanh sigmoid softplus silu relu2 clip astype constant zeros_like sum mean norm softmax argpartition topk
swiglu swiglu_oai gelu gelu_approx gelu_topk causal_conv token_shift gated_delta_update ssm_update wkv7 fp8_dequantize`

func TestDefaultHasEveryOperator(t *testing.T) {
	r, err := Default()
	require.NoError(t, err)
	names := strings.Fields(wanted)
	sort.Strings(names)
	var got []string
	for _, o := range r.Operators() {
		got = append(got, o.Name)
	}
	require.Equal(t, names, got)
	for _, c := range []string{"dense", "affine", "mlp.unfused"} {
		require.NotNil(t, r.Class(c), c)
	}
	for _, s := range []string{"cache", "array"} {
		require.NotNil(t, r.State(s), s)
	}
}

func TestEverythingIsDocumented(t *testing.T) {
	r, err := Default()
	require.NoError(t, err)
	params := func(where string, list []registry.Param) {
		for _, p := range list {
			require.NotEmpty(t, p.Doc, "%s.%s", where, p.Name)
			require.False(t, p.Optional && p.Default != nil, "%s.%s is optional and has a default", where, p.Name)
		}
	}
	for _, o := range r.Operators() {
		require.True(t, strings.Contains(o.Doc, "."), "%s: a doc is of sentences", o.Name)
		for _, in := range o.Inputs {
			require.NotEmpty(t, in.Doc, "%s.%s", o.Name, in.Name)
		}
		params(o.Name, o.Params)
		if o.Each {
			required := 0
			for _, in := range o.Inputs {
				if in.Kind == registry.Value && !in.Optional {
					required++
				}
			}
			require.Equal(t, 1, required, "%s is marked for one node per name", o.Name)
			require.Len(t, o.Outputs, 1, o.Name)
			require.Equal(t, registry.NoState, o.State, o.Name)
		}
	}
	for _, s := range r.States() {
		require.NotEmpty(t, s.Doc)
		params(s.Name, s.Fields)
	}
	for _, c := range r.Classes() {
		params(c.Name, c.Params)
		require.Equal(t, len(c.ExactFor) > 0, c.Numerics == "", "%s is exact, or says its bound", c.Name)
	}
}

func TestRegisterTwiceIsAnError(t *testing.T) {
	r, err := Default()
	require.NoError(t, err)
	require.ErrorContains(t, Register(r), "registered twice")
}

func TestExactClasses(t *testing.T) {
	r, err := Default()
	require.NoError(t, err)
	for _, kind := range projectionKinds {
		for _, storage := range []string{"dense", "affine"} {
			c := r.ExactClass(kind, storage)
			require.NotNil(t, c)
			require.Equal(t, storage, c.Name)
		}
	}
	require.Equal(t, "mlp.unfused", r.ExactClass("mlp", "parts").Name)
	require.Equal(t, "trellis", r.ExactClass("linear", "trellis").Name)
	require.Nil(t, r.ExactClass("head", "trellis"))
}
