//go:build cgo && mlx

package weights

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/internal/testfile"
	"github.com/graphrun/graphrun/weights/view"
)

// onCPU runs f with a scope on a CPU stream of this thread.
func onCPU(t testing.TB, f func(sc *mlx.Scope)) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := mlx.DefaultStream(mlx.DeviceCPU)
	require.NoError(t, err)
	sc := mlx.NewScope(s)
	defer sc.Free()
	f(sc)
}

func contents(t testing.TB, a mlx.Array) []byte {
	t.Helper()
	b, err := a.Bytes()
	require.NoError(t, err)
	return b
}

// randomGGUF has every type that is read.
func randomGGUF(rng *rand.Rand) []byte {
	blocks := func(n, size, halves int) []byte {
		b := make([]byte, n*size)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		for i := range n { // no NaN and no infinity among scales: their bits need not survive arithmetic
			for h := range halves {
				b[i*size+2*h+1] &= 0xbb
			}
		}
		return b
	}
	q := func(name string, kind uint32, size, halves, out, in int) testfile.Tensor {
		return testfile.Tensor{Name: name, Kind: kind, Shape: []int{out, in}, Data: blocks(out*in/32, size, halves)}
	}
	return testfile.Llama().
		Add(q("token_embd.weight", 8, 34, 1, 40, 64)).
		Add(q("blk.0.attn_q.weight", 2, 18, 1, 64, 64)).
		Add(q("blk.0.attn_k.weight", 3, 20, 2, 32, 64)).
		Add(testfile.Tensor{Name: "blk.0.attn_v.weight", Kind: 1, Shape: []int{32, 64}, Data: blocks(32, 128, 0)}).
		Add(testfile.Tensor{Name: "blk.0.attn_norm.weight", Kind: 0, Shape: []int{64}, Data: blocks(64, 4, 0)}).
		Bytes()
}

// compareGGUF holds every tensor of a file against MLX's own loader, bit for bit.
func compareGGUF(t *testing.T, ck *header.Checkpoint) {
	onCPU(t, func(sc *mlx.Scope) {
		want, err := mlx.LoadGGUF(ck.Path)
		require.NoError(t, err)
		defer want.Free()
		f, err := OpenFiles(ck)
		require.NoError(t, err)
		recipes := make([]*view.Recipe, len(ck.Tensors))
		for i := range ck.Tensors {
			recipes[i] = view.FromTensor(&ck.Tensors[i])
		}
		got, err := f.Load(context.Background(), sc, recipes, Options{ReadAhead: true})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Len(t, want.Arrays, len(got))
		for i := range ck.Tensors {
			x := &ck.Tensors[i]
			name := x.Source
			if _, part, _ := strings.Cut(x.Codec, "."); part != "" {
				name = strings.TrimSuffix(name, "weight") + part
			}
			w, ok := want.Arrays[name]
			require.True(t, ok, name)
			require.Equal(t, w.Shape(), got[i].Shape(), name)
			require.Equal(t, w.Dtype(), got[i].Dtype(), name)
			require.True(t, bytes.Equal(contents(t, w), contents(t, got[i])), "%s differs from MLX's", name)
		}
	})
}

func TestGGUFAsMLX(t *testing.T) {
	for seed := range uint64(3) {
		compareGGUF(t, write(t, "m.gguf", randomGGUF(rand.New(rand.NewPCG(seed, 7)))))
	}
}

func TestCheckpointAsMLX(t *testing.T) {
	path := os.Getenv("GRAPHRUN_CHECKPOINT")
	if path == "" {
		path = filepath.Join("..", ".deps", "checkpoints", "SmolLM2-135M-Instruct.Q4_1.gguf")
	}
	ck, err := header.Open(path)
	if err != nil || ck.Format != "gguf" {
		t.Skipf("no GGUF checkpoint (%v); tools/checkpoint.sh fetches it", err)
	}
	compareGGUF(t, ck)
}

func TestSafetensorsAsMLX(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	tensors := []testfile.Tensor{{Name: "bytes", Type: "U8", Shape: []int{3}, Data: random(3)}, {Name: "halves", Type: "BF16", Shape: []int{5, 7}, Data: random(70)},
		{Name: "scalar", Type: "F32", Data: random(4)}, {Name: "floats", Type: "F32", Shape: []int{300, 300}, Data: random(360000)}, {Name: "none", Type: "F32", Shape: []int{0, 4}}}
	for _, pad := range []bool{true, false} { // aligned data is mapped, other data is copied
		ck := write(t, "x.safetensors", testfile.Pack(pad, tensors...))
		onCPU(t, func(sc *mlx.Scope) {
			f, err := OpenFiles(ck)
			require.NoError(t, err)
			defer f.Close()
			for _, x := range tensors {
				h, ok := ck.Lookup(x.Name)
				require.True(t, ok)
				a, err := f.Make(sc, view.FromTensor(h))
				require.NoError(t, err)
				require.True(t, bytes.Equal(x.Data, contents(t, a)), x.Name)
				require.Equal(t, append([]int{}, x.Shape...), append([]int{}, a.Shape()...))
			}
		})
	}
}

func compile(t *testing.T, s string) []*pattern.Pattern {
	p, err := pattern.Compile(s)
	require.NoError(t, err)
	return []*pattern.Pattern{p}
}

// Every operation of a recipe, against the same numbers worked out here.
func TestRecipes(t *testing.T) {
	data := make([]byte, 0, 96)
	for i := range 24 {
		data = binary.LittleEndian.AppendUint32(data, uint32(i))
	}
	ints := func(shape ...int) testfile.Tensor { return testfile.Tensor{Type: "I32", Shape: shape, Data: data} }
	fixed := view.FixedInts
	for _, c := range []struct {
		name  string
		shape []int
		step  view.Step
		want  map[string][]int32
		dims  map[string][]int
	}{
		{"add", []int{24}, view.Each{Do: []view.Change{view.NewAdd(view.FixedFloats(1.5)), view.NewMultiply(view.FixedFloats(2)), view.NewClip(view.FixedFloats(5, 9)), view.NewAstype(dtype.Int32)}},
			map[string][]int32{"x": {5, 5, 7, 9, 9}}, nil},
		{"transpose", []int{2, 3, 4}, view.Each{Do: []view.Change{view.NewTranspose(fixed(2, 0, 1))}}, map[string][]int32{"x": {0, 4, 8, 12, 16, 20, 1}}, map[string][]int{"x": {4, 2, 3}}},
		{"moveaxis", []int{2, 3, 4}, view.Each{Do: []view.Change{view.NewMoveaxis(fixed(0, 2))}}, map[string][]int32{"x": {0, 12, 1, 13}}, map[string][]int{"x": {3, 4, 2}}},
		{"reshape", []int{2, 3, 4}, view.Each{Do: []view.Change{view.NewReshape(fixed(4, -1))}}, map[string][]int32{"x": {0, 1, 2}}, map[string][]int{"x": {4, 6}}},
		{"view", []int{2, 12}, view.Each{Do: []view.Change{view.NewView(dtype.Uint8), view.NewAstype(dtype.Int32)}}, map[string][]int32{"x": {0, 0, 0, 0, 1, 0, 0, 0, 2}}, map[string][]int{"x": {2, 48}}},
		{"split", []int{2, 12}, view.Split{Axis: 1, Sizes: fixed(5, 7), Into: []string{"a", "b"}}, map[string][]int32{"a": {0, 1, 2, 3, 4, 12}, "b": {5, 6, 7, 8, 9, 10, 11, 17}}, nil},
		{"interleave", []int{6, 4}, view.Split{Interleave: true, Into: []string{"a", "b"}}, map[string][]int32{"a": {0, 1, 2, 3, 8}, "b": {4, 5, 6, 7, 12}}, map[string][]int{"a": {3, 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := ints(c.shape...)
			x.Name = "x"
			ck := write(t, "x.safetensors", testfile.Pack(true, x))
			switch s := c.step.(type) {
			case view.Each:
				s.From = compile(t, "x")
				c.step = s
			case view.Split:
				s.From = compile(t, "x")
				c.step = s
			}
			r, errs := view.Apply(ck.Tensors, header.Quantization{}, []view.Step{c.step})
			require.Empty(t, errs)
			checkRecipes(t, ck, r, c.want, c.dims)
		})
	}
	t.Run("stack and join", func(t *testing.T) {
		one := func(name string, from int) testfile.Tensor {
			return testfile.Tensor{Name: name, Type: "I32", Shape: []int{2, 2}, Data: data[4*from : 4*from+16]}
		}
		ck := write(t, "x.safetensors", testfile.Pack(true, one("e.0", 0), one("e.1", 4), one("q", 8), one("k", 12)))
		r, errs := view.Apply(ck.Tensors, header.Quantization{}, []view.Step{
			view.Stack{From: compile(t, "e.{i}"), Over: "i", To: "e"}, view.Join{From: append(compile(t, "q"), compile(t, "k")...), Axis: 1, To: "qk"}})
		require.Empty(t, errs)
		checkRecipes(t, ck, r, map[string][]int32{"e": {0, 1, 2, 3, 4, 5, 6, 7}, "qk": {8, 9, 12, 13, 10, 11, 14, 15}}, map[string][]int{"e": {2, 2, 2}, "qk": {2, 4}})
	})
}

func checkRecipes(t *testing.T, ck *header.Checkpoint, r *view.Result, want map[string][]int32, dims map[string][]int) {
	onCPU(t, func(sc *mlx.Scope) {
		live := mlx.LiveArrays()
		f, err := OpenFiles(ck)
		require.NoError(t, err)
		var names []string
		var recipes []*view.Recipe
		for name, recipe := range r.Tensors {
			names, recipes = append(names, name), append(recipes, recipe)
		}
		got, err := f.Load(context.Background(), sc, recipes, Options{})
		require.NoError(t, err)
		require.Equal(t, live+len(names), mlx.LiveArrays(), "only the results stay")
		require.NoError(t, f.Close())
		require.Len(t, names, len(want))
		for i, name := range names {
			require.Equal(t, recipes[i].Shape, got[i].Shape())
			require.Equal(t, recipes[i].Dtype, got[i].Dtype())
			if d := dims[name]; d != nil {
				require.Equal(t, d, got[i].Shape())
			}
			n, err := got[i].Int32s()
			require.NoError(t, err)
			require.Equal(t, want[name], n[:len(want[name])], name)
		}
	})
}

func TestProgressAndCancel(t *testing.T) {
	ck := write(t, "m.gguf", randomGGUF(rand.New(rand.NewPCG(1, 1))))
	var recipes []*view.Recipe
	for i := range ck.Tensors {
		recipes = append(recipes, view.FromTensor(&ck.Tensors[i]))
	}
	onCPU(t, func(sc *mlx.Scope) {
		live := mlx.LiveArrays()
		f, err := OpenFiles(ck)
		require.NoError(t, err)
		defer f.Close()
		reports := make(chan [2]int64, 100)
		_, err = f.Load(context.Background(), sc, recipes, Options{Workers: 1, ReadAhead: true, Progress: func(done, total int64) { reports <- [2]int64{done, total} }})
		require.NoError(t, err)
		close(reports)
		var last [2]int64
		for last = range reports {
		}
		stored := map[int64]int64{}
		for _, x := range ck.Tensors {
			stored[x.Offset] = x.Size
		}
		sum := int64(0)
		for _, n := range stored {
			sum += n
		}
		require.Equal(t, [2]int64{sum, sum}, last)
		sc.Free()

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = f.Load(ctx, sc, recipes, Options{})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, live, mlx.LiveArrays())
	})
}

// Memory goes with the last array, whether the files are closed before or after.
func TestRelease(t *testing.T) {
	for _, closeFirst := range []bool{true, false} {
		ck := write(t, "x.safetensors", small())
		onCPU(t, func(sc *mlx.Scope) {
			f, err := OpenFiles(ck)
			require.NoError(t, err)
			a, err := f.Make(sc, view.FromTensor(&ck.Tensors[0]))
			require.NoError(t, err)
			r := f.maps[ck.Path]
			freed := make(chan bool, 1)
			free := r.free
			r.free = func(b []byte) error { freed <- true; return free(b) }
			steps := []func(){func() { require.NoError(t, f.Close()) }, func() {
				require.Len(t, contents(t, a), 8)
				sc.Free()
			}}
			if !closeFirst {
				slices.Reverse(steps)
			}
			steps[0]()
			require.Empty(t, freed)
			steps[1]()
			select {
			case <-freed:
			case <-time.After(10 * time.Second):
				t.Fatal("the file stays mapped")
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	ck, err := header.Open(filepath.Join("..", ".deps", "checkpoints", "SmolLM2-135M-Instruct.Q4_1.gguf"))
	if err != nil {
		b.Skip(err)
	}
	var recipes []*view.Recipe
	for i := range ck.Tensors {
		recipes = append(recipes, view.FromTensor(&ck.Tensors[i]))
	}
	b.Run("graphrun", func(b *testing.B) {
		onCPU(b, func(sc *mlx.Scope) {
			b.SetBytes(98 << 20)
			for b.Loop() {
				f, err := OpenFiles(ck)
				require.NoError(b, err)
				_, err = f.Load(context.Background(), sc, recipes, Options{})
				require.NoError(b, err)
				require.NoError(b, f.Close())
				sc.Free()
			}
		})
	})
	b.Run("mlx", func(b *testing.B) {
		onCPU(b, func(*mlx.Scope) {
			b.SetBytes(98 << 20)
			for b.Loop() {
				g, err := mlx.LoadGGUF(ck.Path)
				require.NoError(b, err)
				g.Free()
			}
		})
	})
}
