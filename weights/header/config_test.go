package header

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
)

func config(t *testing.T, text string) (*Config, error) {
	t.Helper()
	return parseConfig("config.json", strings.NewReader(text))
}

func TestConfigValues(t *testing.T) {
	c, err := config(t, `{"int": 7, "neg": -0, "big": 123456789012345678901234567890, "float": 1.0, "exp": 1e2, "small": 1e-05,
 "inf": Infinity, "ninf": -Infinity, "nan": NaN, "huge": 1e999, "tagged": {"__float__": "-Infinity"}, "null": null,
 "text": "a\u00e9\ud83d\ude00\n\/\ud800x", "list": [1, 2.5, "x", [true]], "map": {"k": {"m": false}}}`)
	require.NoError(t, err)
	require.True(t, math.IsNaN(c.Values["nan"].(float64)))
	delete(c.Values, "nan")
	require.Equal(t, map[string]any{"int": int64(7), "neg": int64(0), "big": 123456789012345678901234567890.0, "float": 1.0, "exp": 100.0,
		"small": 1e-05, "inf": math.Inf(1), "ninf": math.Inf(-1), "huge": math.Inf(1), "tagged": math.Inf(-1), "null": nil,
		"text": "aé😀\n/\ufffdx", "list": []any{int64(1), 2.5, "x", []any{true}}, "map": map[string]any{"k": map[string]any{"m": false}}}, c.Values)
	require.Equal(t, Place{1, 2}, c.Place("int"))
	require.Equal(t, "config.json:3:83", c.At("map.k"))
	require.Equal(t, "config.json", c.At("nothing"))
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no object", `[1]`, "config.json:1:1: expected an object"},
		{"empty", ``, "config.json:1:1: expected an object, found the end of the text"},
		{"duplicate", "{\"a\": 1,\n \"a\": 2}", `config.json:2:2: key "a" was given before, at 1:2`},
		{"duplicate below", `{"x": {"a": 1, "a": 2}}`, `1:16: key "a" was given before, at 1:8`},
		{"trailing comma", `{"a": 1,}`, "1:9: a comma before `}`"},
		{"no comma", `{"a": 1 "b": 2}`, "1:9: expected `,` or `}`"},
		{"no colon", `{"a" 1}`, "expected `:` after a key"},
		{"after the end", `{} {}`, "1:4: \"{\" after the end"},
		{"cut", `{"a": [1, 2`, "expected `,` or `]`, found the end of the text"},
		{"open string", `{"a": "x`, "never ends"},
		{"control character", "{\"a\": \"x\ty\"}", "control character (byte 0x09)"},
		{"escape", `{"a": "\q"}`, "an escape that JSON does not have"},
		{"hex", `{"a": "\u12g4"}`, "four hexadecimal digits"},
		{"not UTF-8", "{\"a\": \"\xff\"}", "not UTF-8"},
		{"leading zero", `{"a": 01}`, "no JSON number"},
		{"plus", `{"a": +1}`, "expected a value"},
		{"word", `{"a": nul}`, "expected null"},
		{"number's length", `{"a": ` + strings.Repeat("1", 500) + `}`, "more than 400 characters"},
		{"depth", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "nested deeper than 64"},
		{"key's length", `{"` + strings.Repeat("k", 5000) + `": 1}`, "more than 4096 bytes"},
		{"tag as a whole", `{"__float__": "NaN"}`, "expected an object of settings"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config(t, c.text)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestConfigManyValues(t *testing.T) {
	_, err := config(t, `{"a": [`+strings.Repeat("0,", 1<<20)+`0]}`)
	require.ErrorContains(t, err, "too many values")
	_, err = config(t, `{"a": "`+strings.Repeat("x", configBudget)+`"}`)
	require.Error(t, err)
}

func TestReadConfig(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadConfig(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	path := filepath.Join(dir, "config.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"eos_token_id": [1, 2], "bad": [1.5], "one": 3}`), 0o644))
	for _, p := range []string{dir, path} {
		c, err := ReadConfig(p)
		require.NoError(t, err)
		ids, err := c.TokenIDs("eos_token_id")
		require.NoError(t, err)
		require.Equal(t, []int64{1, 2}, ids)
		ids, err = c.TokenIDs("one")
		require.NoError(t, err)
		require.Equal(t, []int64{3}, ids)
		ids, err = c.TokenIDs("none")
		require.NoError(t, err)
		require.Empty(t, ids)
		_, err = c.TokenIDs("bad")
		require.ErrorContains(t, err, ":1:26: bad is 1.5")
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub", "config.json"), 0o755))
	_, err = ReadConfig(filepath.Join(dir, "sub"))
	require.ErrorContains(t, err, "not a regular file")
}

func TestQuantization(t *testing.T) {
	affine := func(bits, group int) *Quant { return &Quant{GroupSize: group, Bits: bits, Mode: "affine"} }
	for _, c := range []struct {
		name, text string
		want       Quantization
		err        string
		warnings   int
	}{
		{name: "none", text: `{}`},
		{name: "null", text: `{"quantization": null}`},
		{name: "defaults", text: `{"quantization": {}}`, want: Quantization{Default: affine(4, 64)}},
		{name: "defaults of a mode", text: `{"quantization": {"mode": "nvfp4"}}`, want: Quantization{Default: &Quant{GroupSize: 16, Bits: 4, Mode: "nvfp4"}}},
		{name: "mxfp8", text: `{"quantization": {"mode": "mxfp8", "group_size": 32, "bits": 8}}`, want: Quantization{Default: &Quant{GroupSize: 32, Bits: 8, Mode: "mxfp8"}}},
		{name: "overrides", text: `{"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4", "a.b": {"group_size": 64, "bits": 8}, "c": false, "d": true}}`,
			want: Quantization{Default: &Quant{GroupSize: 32, Bits: 4, Mode: "mxfp4"}, ByPath: map[string]Quant{"a.b": {GroupSize: 64, Bits: 8, Mode: "affine"}}, Off: map[string]bool{"c": true}}},
		{name: "first name wins", text: `{"quantization_config": {"quant_method": "awq"}, "quantization": {"group_size": 32, "bits": 3}}`, want: Quantization{Default: affine(3, 32)}},
		{name: "second name", text: `{"quantization_config": {"group_size": 128, "bits": 2.0}}`, want: Quantization{Default: affine(2, 128)}},
		{name: "unused", text: `{"quantization": {"bits": 4, "linear_class": "x"}}`, want: Quantization{Default: affine(4, 64)}, warnings: 1},
		{name: "awq", text: `{"quantization_config": {"quant_method": "AWQ", "bits": 4}}`, want: Quantization{Method: "awq"}},
		{name: "gpt-oss", text: `{"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["x"]}}`, want: Quantization{Default: &Quant{GroupSize: 32, Bits: 4, Mode: "mxfp4"}, Method: "mxfp4"}},
		{name: "fp8", text: `{"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}`, want: Quantization{Method: "fp8"}},
		{name: "fp8 as mxfp8", text: `{"quantization_config": {"quant_method": "fp8", "scale_fmt": "ue8m0", "weight_block_size": [32, 32]}}`, want: Quantization{Default: &Quant{GroupSize: 32, Bits: 8, Mode: "mxfp8"}, Method: "fp8"}},
		{name: "compressed tensors", text: `{"text_config": {"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"}}}`, want: Quantization{Default: affine(4, 32), Method: "compressed-tensors"}},
		{name: "modelopt", text: `{"quantization_config": {"quant_method": "modelopt", "quantization": {"quant_algo": "NVFP4", "group_size": 16}}}`, want: Quantization{Default: &Quant{GroupSize: 16, Bits: 4, Mode: "nvfp4"}, Method: "modelopt"}},
		{name: "bad mode", text: `{"quantization": {"mode": "int4"}}`, err: `config.json:1:19: quantization.mode is "int4"; there are affine, mxfp4, mxfp8, nvfp4 and trellis`},
		{name: "trellis", text: `{"quantization": {"bits": 4, "a": {"bits": 3, "group_size": 256, "mode": "trellis", "trellis": {"L": 12, "code": "1mad", "axis": 0}},
			"b": {"bits": 2, "group_size": 64, "mode": "trellis", "trellis": {"L": 12}}, "c": {"bits": 2, "group_size": 64, "mode": "trellis", "trellis": {"L": 12, "axis": 7}}}}`,
			want: Quantization{Default: affine(4, 64), ByPath: map[string]Quant{"a": {GroupSize: 256, Bits: 3, Mode: Trellis}, "b": {GroupSize: 64, Bits: 2, Mode: Trellis, Axis: 1},
				"c": {GroupSize: 64, Bits: 2, Mode: Trellis, Axis: 1}}}},
		{name: "trellis by default", text: `{"quantization": {"bits": 3, "group_size": 256, "mode": "trellis", "trellis": {"L": 12, "axis": 1}}}`,
			want: Quantization{Default: &Quant{GroupSize: 256, Bits: 3, Mode: Trellis, Axis: 1}}},
		{name: "trellis without its block", text: `{"quantization": {"a": {"bits": 3, "group_size": 256, "mode": "trellis"}}}`,
			err: `config.json:1:19: quantization.a is of mode trellis and has no block of its own; write "trellis": {"L": 12, "code": "1mad", "axis": 1}`},
		{name: "trellis of other states", text: `{"quantization": {"a": {"mode": "trellis", "trellis": {"L": 16}}}}`, err: "quantization.a.trellis.L is 16; states of 12 bits are read"},
		{name: "trellis of another code", text: `{"quantization": {"a": {"mode": "trellis", "trellis": {"L": 12, "code": "mcg"}}}}`, err: "quantization.a.trellis.code is mcg; 1mad is read"},
		{name: "trellis without bits", text: `{"quantization": {"a": {"mode": "trellis", "group_size": 64, "trellis": {"L": 12}}}}`, err: "lacks bits or group_size (the weights of a block)"},
		{name: "bad bits", text: `{"quantization": {"a": {"bits": -1}}}`, err: "quantization.a.bits is -1, not a positive integer"},
		{name: "bad table", text: `{"quantization": 4}`, err: "quantization is not an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf, err := config(t, c.text)
			require.NoError(t, err)
			q, warnings, err := readQuantization(conf)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Len(t, warnings, c.warnings)
			require.Equal(t, c.want.Default, q.Default)
			require.Equal(t, c.want.Method, q.Method)
			require.Equal(t, fmt.Sprint(c.want.ByPath), fmt.Sprint(q.ByPath))
			require.Equal(t, fmt.Sprint(c.want.Off), fmt.Sprint(q.Off))
		})
	}
}

func TestQuantizationFor(t *testing.T) {
	q := Quantization{Default: &Quant{GroupSize: 64, Bits: 4, Mode: "affine"}, ByPath: map[string]Quant{"a": {GroupSize: 32, Bits: 8, Mode: "affine"}}, Off: map[string]bool{"b": true}}
	one, ok := q.For("a")
	require.True(t, ok)
	require.Equal(t, 8, one.Bits)
	_, ok = q.For("b")
	require.False(t, ok)
	one, ok = q.For("c")
	require.True(t, ok)
	require.Equal(t, "affine 4 bits group 64", one.String())
	require.Equal(t, []string{"a", "b"}, q.Paths())
	other := q.Clone()
	other.ByPath["z"], other.Default.Bits = Quant{}, 2
	require.Len(t, q.ByPath, 1)
	require.Equal(t, 4, q.Default.Bits)
}

func TestInferQuant(t *testing.T) {
	for _, c := range []struct {
		name           string
		weight, scales []int
		codes          bool // scales are uint8
		inputs         int
		want           Quant
		err            string
	}{
		{name: "affine", weight: []int{8, 16}, scales: []int{8, 2}, inputs: 128, want: Quant{GroupSize: 64, Bits: 4, Mode: "affine"}},
		{name: "3 bits", weight: []int{8, 12}, scales: []int{8, 2}, inputs: 128, want: Quant{GroupSize: 64, Bits: 3, Mode: "affine"}},
		{name: "mxfp4", weight: []int{8, 16}, scales: []int{8, 4}, codes: true, inputs: 128, want: Quant{GroupSize: 32, Bits: 4, Mode: "mxfp4"}},
		{name: "nvfp4", weight: []int{8, 16}, scales: []int{8, 8}, codes: true, inputs: 128, want: Quant{GroupSize: 16, Bits: 4, Mode: "nvfp4"}},
		{name: "no mode", weight: []int{8, 16}, scales: []int{8, 2}, codes: true, inputs: 128, err: "no mode has uint8 scales"},
		{name: "uneven", weight: []int{8, 16}, scales: []int{8, 3}, inputs: 128, err: "do not divide"},
		{name: "nothing", inputs: 1, err: "say nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := elements[0].dtype
			if c.codes {
				d = dtype.Uint8
			}
			got, err := InferQuant(c.weight, c.scales, d, c.inputs)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
