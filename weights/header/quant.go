package header

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/dtype"
)

// Quant says how a weight is quantised, in MLX's terms; trellis codes, which MLX does not have, have the mode "trellis"
// and their blocks as groups.
type Quant struct {
	GroupSize int    `json:"group_size"`
	Bits      int    `json:"bits"`
	Mode      string `json:"mode"`
	Axis      int    `json:"axis,omitempty"` // of trellis codes: 1 along the inputs, 0 along the outputs
}

// Trellis is the mode of trellis-coded weights.
const Trellis = "trellis"

func (q Quant) String() string {
	if q.Mode == Trellis {
		return fmt.Sprintf("trellis %d bits block %d axis %d", q.Bits, q.GroupSize, q.Axis)
	}
	return fmt.Sprintf("%s %d bits group %d", q.Mode, q.Bits, q.GroupSize)
}

// Quantization is a checkpoint's table of how its modules are quantised. Whether a module is quantised at all is told by
// its tensors: only one with a `.scales` is.
type Quantization struct {
	Default *Quant
	ByPath  map[string]Quant // by module path: "model.layers.0.mlp.up_proj"
	Off     map[string]bool  // modules that the table says false of
	// Method is the quant_method of a table that MLX did not write ("awq", "fp8", "mxfp4" …). Where Default is nil too,
	// the method is none that MLX's modes stand for.
	Method string
}

// For gives how the module at path is quantised where it is; ok is false where the table does not say, or says not.
func (q *Quantization) For(path string) (Quant, bool) {
	if q.Off[path] {
		return Quant{}, false
	}
	if one, ok := q.ByPath[path]; ok {
		return one, true
	}
	if q.Default != nil {
		return *q.Default, true
	}
	return Quant{}, false
}

// Paths lists the modules that the table names, sorted.
func (q *Quantization) Paths() []string {
	out := slices.Collect(maps.Keys(q.ByPath))
	out = append(out, slices.Collect(maps.Keys(q.Off))...)
	slices.Sort(out)
	return slices.Compact(out)
}

// Clone is a copy whose tables can be changed.
func (q *Quantization) Clone() Quantization {
	out := *q
	out.ByPath, out.Off = maps.Clone(q.ByPath), maps.Clone(q.Off)
	if q.Default != nil {
		d := *q.Default
		out.Default = &d
	}
	return out
}

// modeDefaults are MLX's group size and bits of each mode (mlx/ops.cpp, quantize).
var modeDefaults = []Quant{affineQuant(64, 4), {GroupSize: 32, Bits: 4, Mode: "mxfp4"}, {GroupSize: 32, Bits: 8, Mode: "mxfp8"}, {GroupSize: 16, Bits: 4, Mode: "nvfp4"}}

func affineQuant(group, bits int) Quant { return Quant{GroupSize: group, Bits: bits, Mode: "affine"} }

// InferQuant finds how a weight is quantised from its tensors, as mlx-lm does where its table is silent: inputs is the
// width before packing, of a weight uint32 [.., out, inputs * bits / 32] with scales [.., out, inputs / group].
func InferQuant(weight, scales []int, scalesType dtype.Dtype, inputs int) (Quant, error) {
	if len(weight) == 0 || len(scales) == 0 || inputs <= 0 {
		return Quant{}, fmt.Errorf("weight %v, scales %v and %d inputs say nothing of bits and group", weight, scales, inputs)
	}
	packed, groups := weight[len(weight)-1], scales[len(scales)-1]
	if groups <= 0 || inputs%groups != 0 || packed*32%inputs != 0 {
		return Quant{}, fmt.Errorf("weight %v and scales %v do not divide %d inputs into groups and bits", weight, scales, inputs)
	}
	q := affineQuant(inputs/groups, packed*32/inputs)
	if scalesType != dtype.Uint8 {
		return q, nil
	}
	for _, m := range modeDefaults[1:] {
		if m.Bits == q.Bits && m.GroupSize == q.GroupSize {
			return m, nil
		}
	}
	return Quant{}, fmt.Errorf("no mode has uint8 scales with %d bits and group %d", q.Bits, q.GroupSize)
}

// ReadQuantization reads the table of a config alone, where no checkpoint is opened.
func ReadQuantization(c *Config) (Quantization, error) {
	q, _, err := readQuantization(c)
	return q, err
}

// readQuantization reads the table of a config: `quantization`, else `quantization_config` (also of text_config).
func readQuantization(c *Config) (q Quantization, warnings []string, err error) {
	if v, ok := c.Values["quantization"]; ok && v != nil {
		return quantTable(c, "quantization", v)
	}
	key, v := "quantization_config", c.Values["quantization_config"]
	if text, ok := c.Values["text_config"].(map[string]any); v == nil && ok {
		key, v = "text_config.quantization_config", text["quantization_config"]
	}
	if v == nil {
		return q, nil, nil
	}
	table, ok := v.(map[string]any)
	if !ok {
		return q, nil, fmt.Errorf("%s: %s is not an object", c.At(key), key)
	}
	if table["quant_method"] == nil { // MLX's own, under the second name
		return quantTable(c, key, v)
	}
	return foreignQuant(c, key, table)
}

func quantTable(c *Config, key string, v any) (q Quantization, warnings []string, err error) {
	table, ok := v.(map[string]any)
	if !ok {
		return q, nil, fmt.Errorf("%s: %s is not an object", c.At(key), key)
	}
	q.ByPath, q.Off = map[string]Quant{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		switch name {
		case "group_size", "bits", "mode", Trellis:
			continue
		}
		switch one := table[name].(type) {
		case map[string]any:
			if q.ByPath[name], err = quantOf(c, key+"."+name, one); err != nil {
				return q, nil, err
			}
		case bool:
			if !one {
				q.Off[name] = true
			}
		default:
			warnings = append(warnings, fmt.Sprintf("%s: %s.%s is neither a setting of quantization nor a module's, and is not used", c.At(key+"."+name), key, name))
		}
	}
	one, err := quantOf(c, key, table)
	q.Default = &one
	return q, warnings, err
}

// quantOf reads group_size, bits and mode. A module's entry does not take the table's mode: MLX's default is affine.
func quantOf(c *Config, key string, m map[string]any) (Quant, error) {
	mode := "affine"
	if v := m["mode"]; v != nil {
		s, ok := v.(string)
		if !ok {
			return Quant{}, fmt.Errorf("%s: %s.mode is not a string", c.At(key+".mode"), key)
		}
		mode = s
	}
	q := Quant{Mode: Trellis}
	if mode == Trellis {
		var err error
		if q.Axis, err = trellisAxis(c, key, m); err != nil {
			return Quant{}, err
		}
	} else {
		at := slices.IndexFunc(modeDefaults, func(q Quant) bool { return q.Mode == mode })
		if at < 0 {
			return Quant{}, fmt.Errorf("%s: %s.mode is %s; there are affine, mxfp4, mxfp8, nvfp4 and trellis", c.At(key+".mode"), key, clip(mode))
		}
		q = modeDefaults[at]
	}
	for name, to := range map[string]*int{"group_size": &q.GroupSize, "bits": &q.Bits} {
		v := m[name]
		if v == nil {
			continue
		}
		n, ok := v.(int64)
		if f, isFloat := v.(float64); isFloat && f == float64(int64(f)) {
			n, ok = int64(f), true
		}
		if !ok || n < 1 || n > 1<<16 {
			return Quant{}, fmt.Errorf("%s: %s.%s is %v, not a positive integer", c.At(key+"."+name), key, name, v)
		}
		*to = int(n)
	}
	if q.Mode == Trellis && (q.Bits == 0 || q.GroupSize == 0) {
		return Quant{}, fmt.Errorf("%s: %s is of mode trellis and lacks bits or group_size (the weights of a block)", c.At(key), key)
	}
	return q, nil
}

// trellisAxis reads the block of a trellis entry: L and code, of which one kind is read, and the axis, where any number
// but 0 stands for 1, as the format's first reader has it.
func trellisAxis(c *Config, key string, m map[string]any) (int, error) {
	block, ok := m[Trellis].(map[string]any)
	if !ok {
		return 0, fmt.Errorf("%s: %s is of mode trellis and has no block of its own; write \"trellis\": {\"L\": 12, \"code\": \"1mad\", \"axis\": 1}", c.At(key), key)
	}
	if l := block["L"]; l != int64(12) {
		return 0, fmt.Errorf("%s: %s.trellis.L is %v; states of 12 bits are read", c.At(key+".trellis"), key, l)
	}
	if code := block["code"]; code != nil && code != "1mad" {
		return 0, fmt.Errorf("%s: %s.trellis.code is %v; 1mad is read", c.At(key+".trellis"), key, code)
	}
	if axis := block["axis"]; axis == int64(0) {
		return 0, nil
	}
	return 1, nil
}

// foreignQuant reads the table of another tool, as far as MLX's modes can stand for it (mlx_lm/utils.py, load_model).
func foreignQuant(c *Config, key string, table map[string]any) (q Quantization, warnings []string, err error) {
	word := func(k string) string { s, _ := table[k].(string); return strings.ToLower(s) }
	q.Method = word("quant_method")
	mode := ""
	switch q.Method {
	case "mxfp4", "mxfp8":
		mode = q.Method
	case "fp8":
		if block, ok := table["weight_block_size"].([]any); ok && slices.Equal(block, []any{int64(32), int64(32)}) && word("scale_fmt") == "ue8m0" {
			mode = "mxfp8"
		}
	case "compressed-tensors":
		switch word("format") {
		case "nvfp4-pack-quantized":
			mode = "nvfp4"
		case "mxfp4-pack-quantized":
			mode = "mxfp4"
		case "pack-quantized":
			one := affineQuant(32, 4)
			q.Default = &one
		}
	case "modelopt":
		settings := table
		if inner, ok := table["quantization"].(map[string]any); ok {
			settings = inner
		}
		if settings["quant_algo"] == "NVFP4" {
			one, err := quantOf(c, key, map[string]any{"mode": "nvfp4", "group_size": settings["group_size"]})
			q.Default = &one
			return q, nil, err
		}
	}
	for _, m := range modeDefaults {
		if m.Mode == mode {
			q.Default = &m
		}
	}
	return q, nil, nil
}
