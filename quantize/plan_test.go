package quantize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/weights/header"
)

func TestDefaultPlans(t *testing.T) {
	for _, format := range []string{Trellis, Affine} {
		p, err := Default(format)
		require.NoError(t, err)
		require.NotEmpty(t, p.Lines)
	}
	_, err := Default("gguf")
	require.EqualError(t, err, "there is no format gguf; there are trellis and affine")
}

func TestPlanErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "quantize: []", "p.yaml:1:1: missing-key: the plan has no line"},
		{"no list", "quantize: {weights: a}", "p.yaml:1:11: parameter-type: quantize is a list of lines; this is mapping"},
		{"another key", "quantise: []\nquantize: [{weights: a, format: keep}]", "p.yaml:1:1: unknown-key: a plan has no key quantise (did you mean quantize?)"},
		{"no format", "quantize:\n- {weights: a}", "p.yaml:2:3: missing-key: a line of a plan has a key format"},
		{"no weights", "quantize:\n- {format: keep}", "p.yaml:2:3: missing-key: a line of a plan has a key weights"},
		{"unknown format", "quantize:\n- {weights: a, format: gptq}", "p.yaml:2:24: bad-word: gptq is none of trellis, affine, keep"},
		{"misspelt key", "quantize:\n- {weights: a, format: trellis, bit: 3}", "p.yaml:2:33: unknown-key: a line of a plan has no key bit (did you mean bits?)"},
		{"bits", "quantize:\n- {weights: a, format: trellis, bits: 7}", "p.yaml:2:39: bad-word: 7 is none of 2 3 4 5 6 8"},
		{"no number", "quantize:\n- {weights: a, format: trellis, axis: down}", "p.yaml:2:39: parameter-type: down is no number"},
		{"another format's key", "quantize:\n- {weights: a, format: affine, axis: 0}", "p.yaml:2:3: unknown-key: axis is for format trellis; this line has format affine"},
		{"pattern", "quantize:\n- {weights: 'a{b', format: keep}", "p.yaml:2:13: bad-pattern:"},
		{"twice", "quantize: []\nquantize: []", "p.yaml:2:1: yaml-duplicate-key:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list diag.List
			ParsePlan("p.yaml", []byte(c.text), &list)
			require.Contains(t, findings(&list), c.want)
		})
	}
}

func findings(list *diag.List) string {
	var b strings.Builder
	for _, d := range list.Sorted() {
		fmt.Fprintf(&b, "%s: %s: %s", d.At, d.Code, d.Message)
		for _, h := range d.Help {
			fmt.Fprintf(&b, " (%s)", h)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func tensor(name string, d dtype.Dtype, shape ...int) header.Tensor {
	return header.Tensor{Name: name, Dtype: d, Stored: header.ElementName(d), Shape: shape}
}

// headers is a checkpoint of tensors alone, sorted by name.
func headers(tensors ...header.Tensor) *header.Checkpoint {
	return &header.Checkpoint{Path: "source", Format: "safetensors", Tensors: tensors}
}

func TestTasks(t *testing.T) {
	ck := headers(
		tensor("a.mlp.down_proj.weight", dtype.Bfloat16, 512, 256),
		tensor("a.mlp.gate_proj.biases", dtype.Float16, 256, 8),
		tensor("a.mlp.gate_proj.scales", dtype.Float16, 256, 8),
		tensor("a.mlp.gate_proj.weight", dtype.Uint32, 256, 32),
		tensor("a.norm.weight", dtype.Bfloat16, 256),
		tensor("b.conv.weight", dtype.Bfloat16, 64, 4, 1),
		tensor("b.proj.weight", dtype.Bfloat16, 64, 100),
	)
	ck.Quantization.Default = &header.Quant{Mode: "affine", Bits: 4, GroupSize: 32}
	run := func(text string, bits int) ([]string, string) {
		var list diag.List
		p := ParsePlan("p.yaml", []byte(text), &list)
		require.Empty(t, findings(&list))
		c := &chooser{ck: ck, plan: p, bits: bits, group: 64, list: &list}
		var out []string
		for _, x := range c.tasks() {
			if x.format != Keep {
				out = append(out, fmt.Sprintf("%s %s %s %v", x.path, x.quant, x.geometry.Layout, x.outputs[0].shape))
			}
		}
		return out, findings(&list)
	}
	made, wrong := run(string(trellisPlan), 3)
	require.Empty(t, wrong)
	require.Equal(t, []string{
		"a.mlp.down_proj trellis 3 bits block 256 axis 1 row [512 24]",
		"a.mlp.gate_proj trellis 3 bits block 256 axis 1 row [256 24]",
	}, made, "the plan's lines match what is there; a block is 256 where that divides the coded axis")

	made, wrong = run("quantize:\n- {weights: '**', format: affine, where_it_fits: true}\n- {weights: '**.gate_proj', format: keep}\n- {weights: '**.down_proj', format: trellis, bits: 3, axis: 0, layout: interleaved}", 8)
	require.Empty(t, wrong)
	require.Equal(t, []string{"a.mlp.down_proj trellis 3 bits block 256 axis 0 interleaved [1 256 48]"}, made, "later lines win; what does not fit is kept")

	_, wrong = run("quantize:\n- {weights: b.proj, format: trellis}\n- {weights: c, format: keep}", 4)
	require.Equal(t, "p.yaml:2:3: quantization: b.proj: 100 inputs are no multiple of trellis blocks of 64 (leave such weights out, or write `where_it_fits: true`)\n"+
		"p.yaml:3:3: bind-no-match: no weight of the checkpoint matches c\n", wrong)
	_, wrong = run("quantize:\n- {weights: b.conv, format: trellis}", 4)
	require.Contains(t, wrong, "b.conv: it is [64 4 1]; trellis codes are of one matrix")
	_, wrong = run("quantize:\n- {weights: a.mlp.down_proj, format: trellis, bits: 8}", 4)
	require.Contains(t, wrong, "trellis codes of 8 bits; 2, 3 and 4 are read")
	_, wrong = run(string(trellisPlan), 5)
	require.Equal(t, 1, strings.Count(wrong, "\n"), "a fault that many weights share is told once")
	require.Contains(t, wrong, "a.mlp.down_proj and 1 more: trellis codes of 5 bits; 2, 3 and 4 are read")
}
