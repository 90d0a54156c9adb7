package header

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/dtype"
)

// openGGUF reads a GGUF file as a checkpoint.
func openGGUF(path string) (*Checkpoint, error) {
	meta, infos, err := readGGUF(path)
	if err != nil {
		return nil, err
	}
	ck, err := mapGGUF(meta, infos)
	if err != nil && !strings.HasPrefix(err.Error(), path+": ") { // what is wrong with the metadata names the file
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return ck, err
}

// mapGGUF gives settings, names and the quantization table what the architecture's mapping says.
func mapGGUF(meta *GGUFMeta, infos []info) (*Checkpoint, error) {
	architecture, err := meta.Text(architectureKey)
	if err != nil {
		return nil, err
	}
	m, err := findMapping(architecture)
	if err != nil {
		return nil, err
	}
	rename, err := m.renamer()
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*info, len(infos))
	for i := range infos {
		byName[infos[i].Name] = &infos[i]
	}
	config, warnings, err := m.config(meta, byName)
	if err != nil {
		return nil, err
	}
	ck := &Checkpoint{Path: meta.Path, Format: "gguf", Config: config, Files: []string{meta.Path}, GGUF: meta, Warnings: warnings}
	factors := ""
	if m.Factors != nil && byName[m.Factors.Tensor] != nil {
		factors = m.Factors.Tensor
		if err := m.applyFactors(meta, config, byName[factors]); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", factors, err)
		}
	}
	for i := range infos {
		one := &infos[i]
		if one.Name == factors {
			continue
		}
		to, err := rename.name(one.Name)
		if err != nil {
			return nil, fmt.Errorf("%w in files of architecture %s", err, architecture)
		}
		if to == "" {
			continue
		}
		if ck.Tensors, err = one.expand(ck.Tensors, to); err != nil {
			return nil, err
		}
	}
	ck.Quantization = tableOf(infos, rename)
	return ck, sortByName(ck.Tensors)
}

func (m *mapping) applyFactors(meta *GGUFMeta, config *Config, one *info) error {
	if config.Values["rope_scaling"] != nil {
		return fmt.Errorf("the metadata gives another scaling of the rotary frequencies")
	}
	factors, err := readFactors(meta.src, one)
	if err != nil {
		return err
	}
	base, _ := config.Values["rope_theta"].(float64)
	scaling, err := ropeScaling(factors, base, m.Factors.RopeType)
	if err == nil && scaling != nil {
		config.Values["rope_scaling"] = scaling
	}
	return err
}

// expand appends the arrays that a stored tensor becomes: itself, or the packed codes, scales and biases of MLX's affine
// quantisation, as MLX's own loader lays them out (mlx/io/gguf_quants.cpp).
func (one *info) expand(out []Tensor, name string) ([]Tensor, error) {
	t := one.Tensor
	t.Name, t.Source = name, one.Name
	if one.typ.codec == "" {
		return append(out, t), nil
	}
	base, ok := strings.CutSuffix(name, ".weight")
	if !ok {
		return nil, fmt.Errorf("tensor %s is %s, and only weights of modules can be quantised", clip(one.Name), one.Stored)
	}
	t.Codec = one.typ.codec + ".weight"
	t.Shape = lastDim(one.Shape, one.typ.bits, 32)
	out = append(out, t)
	for _, part := range []string{"scales", "biases"} {
		p := t
		p.Name, p.Codec, p.Dtype = base+"."+part, one.typ.codec+"."+part, dtype.Float16
		p.Shape = lastDim(one.Shape, 1, ggufBlockSize)
		out = append(out, p)
	}
	return out, nil
}

func lastDim(shape []int, times, over int) []int {
	out := slices.Clone(shape)
	last := len(out) - 1
	out[last] = out[last] / over * times
	return out
}

// tableOf makes the quantization table: what most quantised tensors are, and the others by path.
func tableOf(infos []info, rename *renamer) Quantization {
	q := Quantization{ByPath: map[string]Quant{}, Off: map[string]bool{}}
	count := map[int]int{}
	for i := range infos {
		if b := infos[i].typ.bits; b > 0 {
			count[b]++
		}
	}
	if len(count) == 0 {
		return q
	}
	bits := make([]int, 0, len(count))
	for b := range count {
		bits = append(bits, b)
	}
	most := slices.MaxFunc(bits, func(a, b int) int { return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(b, a)) })
	common := affineQuant(ggufBlockSize, most)
	q.Default = &common
	for i := range infos {
		if b := infos[i].typ.bits; b > 0 && b != most {
			if to, err := rename.name(infos[i].Name); err == nil && to != "" {
				q.ByPath[strings.TrimSuffix(to, ".weight")] = affineQuant(ggufBlockSize, b)
			}
		}
	}
	return q
}
