//go:build cgo && mlx

package quantize

import (
	"context"
	"encoding/binary"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/trellis"
	"github.com/graphrun/graphrun/weights/header"
)

// small writes a checkpoint: two layers with a gate [64, 128] and a down [128, 64] in float32, a norm, and an unknown
// file that stays behind.
func small(t *testing.T) string {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 4))
	var outputs []*output
	var data []byte
	add := func(name string, shape ...int) {
		outputs = append(outputs, &output{name: name, element: "F32", shape: shape, bytes: 4 * elements(shape)})
		for range elements(shape) {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(r.NormFloat64())))
		}
	}
	for _, layer := range []string{"layers.0.", "layers.1."} {
		add(layer+"mlp.down_proj.weight", 128, 64)
		add(layer+"mlp.gate_proj.weight", 64, 128)
		add(layer+"mlp.up_proj.weight", 64, 128)
	}
	add("norm.weight", 128)
	s, err := place("model.safetensors", 0, outputs)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"model.safetensors": string(s.header) + string(data),
		"config.json":       `{"model_type": "small", "eps": 1e-5, "theta": 10000.0, "limit": Infinity, "layers": 2}`,
		"tokenizer.json":    `{"version": "1.0"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func run(t *testing.T, ctx context.Context, source, target string, change func(*Options)) (*Report, error) {
	ck, err := header.Open(source)
	require.NoError(t, err)
	var list diag.List
	p := ParsePlan("p.yaml", []byte("quantize:\n- {weights: '**.mlp.*', format: trellis}\n- {weights: '**.mlp.down_proj', format: trellis, axis: 0}"), &list)
	o := Options{Source: ck, Target: target, Plan: p, Bits: 3}
	if change != nil {
		change(&o)
	}
	r, err := Run(ctx, o, &list)
	require.Empty(t, findings(&list))
	return r, err
}

func contents(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		out[e.Name()] = string(data)
	}
	return out
}

func TestRun(t *testing.T) {
	source := small(t)
	before := contents(t, source)
	target := filepath.Join(t.TempDir(), "new")
	r, err := run(t, context.Background(), source, target, nil)
	require.NoError(t, err)
	require.Len(t, r.Made, 6)
	require.Equal(t, 1, r.Kept)
	require.Equal(t, before, contents(t, source), "the source is only read")
	require.NoDirExists(t, target+".partial")
	require.ElementsMatch(t, []string{"config.json", "model.safetensors", "tokenizer.json"}, keysOf(contents(t, target)))

	ck, err := header.Open(target)
	require.NoError(t, err)
	require.Empty(t, ck.Warnings)
	require.Equal(t, header.Quant{Mode: "trellis", Bits: 3, GroupSize: 64}, ck.Quantization.ByPath["layers.0.mlp.down_proj"])
	require.Equal(t, header.Quant{Mode: "trellis", Bits: 3, GroupSize: 64, Axis: 1}, ck.Quantization.ByPath["layers.1.mlp.up_proj"])
	require.Equal(t, 10000.0, ck.Config.Values["theta"], "a float stays one")
	require.Equal(t, math.Inf(1), ck.Config.Values["limit"])

	old, err := header.Open(source)
	require.NoError(t, err)
	for _, m := range r.Made {
		require.Less(t, m.Error, 0.022, m.Path) // 0.0196 of long rows
		codes, scales := words(read(t, ck, m.Path+".weight")), halves(read(t, ck, m.Path+".scales"))
		got, err := trellis.Decode(m.Geometry, codes, scales)
		require.NoError(t, err)
		want := words(read(t, old, m.Path+".weight"))
		var distortion, power float64
		for i, v := range got {
			at := i
			if m.Geometry.Axis == 0 { // S is the transpose
				at = i%m.Geometry.Columns*m.Geometry.Rows + i/m.Geometry.Columns
			}
			w := float64(math.Float32frombits(want[at]))
			distortion, power = distortion+(float64(v)-w)*(float64(v)-w), power+w*w
		}
		require.InEpsilon(t, distortion/power, m.Error, 1e-5, m.Path)
	}
	require.Equal(t, read(t, old, "norm.weight"), read(t, ck, "norm.weight"))

	_, err = run(t, context.Background(), source, target, nil)
	require.EqualError(t, err, target+" is there already; name a folder that is not")
	_, err = run(t, context.Background(), source, filepath.Join(source, "new"), nil)
	require.EqualError(t, err, filepath.Join(source, "new")+" lies in the source, "+source+"; name a folder outside it")
}

func keysOf(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func read(t *testing.T, ck *header.Checkpoint, name string) []byte {
	x, ok := ck.Lookup(name)
	require.True(t, ok, name)
	data, err := os.ReadFile(x.File)
	require.NoError(t, err)
	return data[x.Offset : x.Offset+x.Size]
}

func words(b []byte) []uint32 {
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

func halves(b []byte) []float32 {
	out := make([]float32, len(b)/2)
	for i := range out {
		h := binary.LittleEndian.Uint16(b[2*i:])
		out[i] = float32(math.Ldexp(float64(h&0x3ff|0x400), int(h>>10)-25))
	}
	return out
}

// TestAffine: trellis codes' checkpoint may be written once more, its other weights in MLX's layout and in several files.
func TestAffine(t *testing.T) {
	source := small(t)
	target := filepath.Join(t.TempDir(), "new")
	plan, err := Default(Affine)
	require.NoError(t, err)
	r, err := run(t, context.Background(), source, target, func(o *Options) { o.Plan, o.Bits, o.ShardBytes = plan, 8, 10_000 })
	require.NoError(t, err)
	require.Len(t, r.Made, 6)
	ck, err := header.Open(target)
	require.NoError(t, err)
	require.Len(t, ck.Files, 6)
	require.Equal(t, &header.Quant{Mode: "affine", Bits: 8, GroupSize: 64}, ck.Quantization.Default)
	require.Empty(t, ck.Quantization.ByPath)

	again := filepath.Join(t.TempDir(), "again")
	r, err = run(t, context.Background(), target, again, nil)
	require.NoError(t, err)
	for _, m := range r.Made {
		require.Less(t, m.Error, 0.022, m.Path)
	}
	ck, err = header.Open(again)
	require.NoError(t, err)
	require.Len(t, ck.Quantization.ByPath, 6)
	_, there := ck.Lookup("layers.0.mlp.down_proj.biases")
	require.False(t, there, "zero points go with the codes that they were of")
}

// TestInterrupted: what is finished is kept, what is not or no longer right is made again, and the end is the same.
func TestInterrupted(t *testing.T) {
	source := small(t)
	whole := filepath.Join(t.TempDir(), "whole")
	_, err := run(t, context.Background(), source, whole, nil)
	require.NoError(t, err)

	target := filepath.Join(t.TempDir(), "new")
	partial := target + ".partial"
	ctx, cancel := context.WithCancel(context.Background())
	_, err = run(t, ctx, source, target, func(o *Options) {
		o.Progress = func(done, total int64) {
			if done > total/2 {
				cancel()
			}
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NoDirExists(t, target)
	_, err = header.Open(partial)
	require.ErrorContains(t, err, "no config.json", "unfinished work is no checkpoint")

	_, err = run(t, context.Background(), source, target, func(o *Options) { o.Bits = 2 })
	require.EqualError(t, err, partial+" holds unfinished work of another source, format or plan: remove it, or name another target")

	journal := filepath.Join(partial, journalName)
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal, append(text, `{"name": "layers.1.mlp.up`...), 0o644))
	shard := filepath.Join(partial, "model.safetensors")
	data, err := os.ReadFile(shard)
	require.NoError(t, err)
	at := len(data) - 128*4 - 1 // the last weights before the norm are not made yet; the first are
	data[at] ^= 0xff
	data[8+int(binary.LittleEndian.Uint64(data))] ^= 1
	require.NoError(t, os.WriteFile(shard, data, 0o644))

	r, err := run(t, context.Background(), source, target, nil)
	require.NoError(t, err)
	require.Equal(t, 2, r.Resumed, "three were finished, one of them has been spoilt")
	require.Equal(t, contents(t, whole), contents(t, target))
}

func TestWrongSources(t *testing.T) {
	target := filepath.Join(t.TempDir(), "new")
	source := small(t)
	file := filepath.Join(source, "model.safetensors")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	ck, err := header.Open(source)
	require.NoError(t, err)
	p, err := Default(Trellis)
	require.NoError(t, err)

	cut := append([]byte{}, data[:len(data)-1000]...)
	require.NoError(t, os.WriteFile(file, cut, 0o644))
	var list diag.List
	_, err = Run(context.Background(), Options{Source: ck, Target: target, Plan: p}, &list)
	require.ErrorContains(t, err, "the file has changed since its header was read")
	require.NoDirExists(t, target)
	_, err = header.Open(source)
	require.Error(t, err, "a truncated file is not opened at all")

	at := len(data) - 129*4
	binary.LittleEndian.PutUint32(data[at:], math.Float32bits(float32(math.NaN())))
	require.NoError(t, os.WriteFile(file, data, 0o644))
	_, err = run(t, context.Background(), source, target, nil)
	require.EqualError(t, err, "layers.1.mlp.up_proj: row 63 of what is coded: its weight 127 is NaN")
	require.NoDirExists(t, target)
}

func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors")
	require.ErrorContains(t, reserve(path, shard{"model.safetensors", []byte("x"), 1 << 60}), "making room for 1152921504606846976 bytes")
	_, err := os.Stat(path)
	require.ErrorIs(t, err, fs.ErrNotExist)

	_, err = openWork(dir, []byte("{}"), nil)
	require.NoError(t, err)
	_, err = openWork(dir, []byte("{}"), nil)
	require.EqualError(t, err, dir+": another process is at work there")
	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o644))
	_, err = openWork(other, []byte("{}"), nil)
	require.EqualError(t, err, other+" is not a folder of unfinished work: it holds letter.txt; remove it, or name another target")
}
