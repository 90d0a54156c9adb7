//go:build cgo && mlx

package ops

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

func newCache(r *rig, decl *plan.State) registry.KV {
	r.t.Helper()
	v, err := cacheKind().New(*decl)
	require.NoError(r.t, err)
	r.ends = append(r.ends, v.Free)
	return v.(registry.KV)
}

// numbered is k or v of positions first to first + n, each row holding its position: [1, 1, n, 1].
func numbered(r *rig, first, n int) mlx.Array {
	a := r.scope.Arange(float64(first), float64(first+n), 1, dtype.Float32)
	return r.scope.Reshape(a, []int{1, 1, n, 1})
}

// feed appends positions and gives what is then read.
func feed(r *rig, kv registry.KV, first, n int) []float32 {
	r.t.Helper()
	kv.Begin()
	require.Equal(r.t, first, kv.Offset())
	k, v := kv.Update(r.call.Scope, numbered(r, first, n), r.scope.Negative(numbered(r, first, n)))
	require.NoError(r.t, r.call.Err())
	keys, values := numbersOf(r.t, k), numbersOf(r.t, v)
	require.Len(r.t, values, len(keys))
	for i := range keys {
		require.Equal(r.t, -keys[i], values[i])
	}
	require.NoError(r.t, mlx.Eval(kv.Arrays()...))
	r.call.Scope.Free()
	clear(r.call.Memo)
	return keys
}

func upTo(first, last int) []float32 {
	var out []float32
	for i := first; i < last; i++ {
		out = append(out, float32(i))
	}
	return out
}

func TestFullCacheGrowsInSteps(t *testing.T) {
	r := newRig(t)
	kv := newCache(r, cacheState("heads", 1, "dim", 1)).(*fullCache)
	for _, step := range []struct{ n, capacity int }{{5, 256}, {250, 256}, {1, 256}, {1, 512}, {300, 257 + 512}, {1, 769}} {
		first := kv.offset
		require.Equal(t, upTo(0, first+step.n), feed(r, kv, first, step.n))
		require.Equal(t, step.capacity, kv.keys.Dim(2), "after %d more at %d", step.n, first)
	}
	kv.Reset()
	require.Empty(t, kv.Arrays())
	require.Equal(t, upTo(0, 3), feed(r, kv, 0, 3))
}

func TestRotatingCacheTurns(t *testing.T) {
	r := newRig(t)
	kv := newCache(r, cacheState("heads", 1, "dim", 1, "window", 4))
	require.Equal(t, upTo(0, 3), feed(r, kv, 0, 3))
	require.Equal(t, []float32{0, 1, 2, 3}, feed(r, kv, 3, 1))
	require.Equal(t, []float32{4, 1, 2, 3}, feed(r, kv, 4, 1), "the oldest is overwritten")
	require.Equal(t, []float32{4, 5, 2, 3}, feed(r, kv, 5, 1))
	require.Equal(t, []float32{3, 4, 5, 6, 7}, feed(r, kv, 6, 2), "time order, window - 1 old ones before the new")
	require.Equal(t, []float32{8, 5, 6, 7}, feed(r, kv, 8, 1), "cut to the window, then turned")
	require.Equal(t, []float32{6, 7, 8, 9, 10, 11, 12, 13, 14}, feed(r, kv, 9, 6))
	require.Equal(t, []float32{15, 12, 13, 14}, feed(r, kv, 15, 1))
	require.Len(t, kv.Arrays(), 2)
	require.Equal(t, 4, kv.Arrays()[0].Dim(2), "no more than the window is held")
}

func TestChunkedCacheLetsGo(t *testing.T) {
	r := newRig(t)
	kv := newCache(r, cacheState("heads", 1, "dim", 1, "chunk", 4))
	require.Equal(t, upTo(0, 6), feed(r, kv, 0, 6), "one forward may hold more than a chunk")
	require.Equal(t, upTo(2, 7), feed(r, kv, 6, 1))
	require.Equal(t, upTo(3, 8), feed(r, kv, 7, 1))
	kv.Begin()
	r.call.T = 2
	mask := kv.Mask(r.call, 2, false)
	require.Equal(t, []float32{ // columns 4 to 9, rows 8 and 9; chunks are 4..7 and 8..11
		0, 0, 0, 0, 1, 0,
		0, 0, 0, 0, 1, 1}, numbersOf(t, r.scope.Astype(mask.Array, dtype.Float32)))
	k, _ := kv.Read(r.call.Scope)
	require.Equal(t, upTo(4, 8), numbersOf(t, k))
}

func TestMasksAreThoseBeforeTheForward(t *testing.T) {
	r := newRig(t)
	full := newCache(r, cacheState("heads", 1, "dim", 1))
	feed(r, full, 0, 2)
	full.Begin()
	full.Update(r.call.Scope, numbered(r, 2, 2), numbered(r, 2, 2))
	require.Equal(t, registry.Mask{Mode: "causal"}, full.Mask(r.call, 2, false))
	require.Equal(t, registry.Mask{}, full.Mask(r.call, 1, true))
	want := []float32{1, 1, 1, 0, 1, 1, 1, 1}
	require.Equal(t, want, numbersOf(t, r.scope.Astype(full.Mask(r.call, 2, true).Array, dtype.Float32)))

	other := newCache(r, cacheState("heads", 3, "dim", 8))
	other.(*fullCache).start = 2
	require.Equal(t, full.Mask(r.call, 2, true), other.Mask(r.call, 2, true), "layers of one geometry share the array")
	other.(*fullCache).start = 1
	require.NotEqual(t, full.Mask(r.call, 2, true), other.Mask(r.call, 2, true))
}

func TestUpdateAfterAnErrorKeepsTheState(t *testing.T) {
	r := newRig(t)
	kv := newCache(r, cacheState("heads", 1, "dim", 1))
	feed(r, kv, 0, 2)
	kv.Begin()
	r.call.Fail(errors.New("an operator before failed"))
	k, v := kv.Update(r.call.Scope, numbered(r, 2, 1), numbered(r, 2, 1))
	require.False(t, k.Valid() || v.Valid())
	require.ErrorContains(t, r.call.ResetErr(), "before failed")
	require.Equal(t, upTo(0, 3), feed(r, kv, 2, 1))
}

func TestReadBeforeAnythingIsWritten(t *testing.T) {
	r := newRig(t)
	newCache(r, cacheState("heads", 1, "dim", 1, "window", 4)).Read(r.call.Scope)
	require.ErrorContains(t, r.call.ResetErr(), "read before anything was written")
}

// Decode steps write into the cache's own memory: handles and active memory stay flat, and no step makes a copy.
func TestCachesAreSteady(t *testing.T) {
	for _, c := range []struct {
		name  string
		decl  *plan.State
		bytes int
	}{
		{"full", cacheState("heads", 8, "dim", 64), 2 * 2 * 8 * 64 * 512},
		{"window", cacheState("heads", 8, "dim", 64, "window", 64), 2 * 2 * 8 * 64 * 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			kv := newCache(r, c.decl)
			row := r.filled(dtype.Bfloat16, 1, 1, 8, 1, 64)
			require.NoError(t, mlx.Eval(row))
			step := func() {
				kv.Begin()
				k, v := kv.Update(r.call.Scope, row, row)
				sum := r.call.Add(r.call.Sum(k, false), r.call.Sum(v, false))
				r.call.Keep(sum)
				r.call.Scope.Free()
				require.NoError(t, mlx.Eval(append(kv.Arrays(), sum)...))
				sum.Free()
			}
			for range 300 {
				step()
			}
			live, active := mlx.LiveArrays(), mlx.ActiveMemory()
			require.NoError(t, mlx.ResetPeakMemory())
			for range 200 {
				step()
			}
			require.Equal(t, live, mlx.LiveArrays())
			require.Equal(t, active, mlx.ActiveMemory())
			require.Less(t, mlx.PeakMemory()-active, c.bytes/2, "a step copies the cache")
		})
	}
}

// Attention over a ring equals attention over all positions with a window's mask.
func TestAttendThroughAWindow(t *testing.T) {
	r := newRig(t)
	const n, window = 23, 8
	q, k, v := r.filled(dtype.Float32, 1, 1, 4, n, 16), r.filled(dtype.Float32, 2, 1, 2, n, 16), r.filled(dtype.Float32, 5, 1, 2, n, 16)
	scale := args("scale", 0.25)
	mask := causalMask(r.call, n, 0, window)
	want := r.scope.Own(r.apply("attend", []any{q, k, v, mask}, scale)[0].Clone())
	decl := cacheState("heads", 2, "dim", 16, "window", window)
	r.call.States = []registry.StateValue{newCache(r, decl)}
	first := 0
	for _, count := range []int{5, 1, 1, 1, 1, 7, 1, 2, 1, 1, 1, 1} {
		r.call.States[0].Begin()
		clear(r.call.Memo)
		cut := func(a mlx.Array) mlx.Array { return along(r.scope, a, 2, first, first+count) }
		got := r.applyOn("attend", "cpu", []any{cut(q), cut(k), cut(v)}, scale, decl)[0]
		difference := r.scope.Max(r.scope.Abs(r.scope.Subtract(got, cut(want))), false)
		d, err := difference.ItemFloat()
		require.NoError(t, err)
		require.Less(t, d, 1e-5, "positions %d to %d", first, first+count)
		first += count
	}
	require.Equal(t, n, first)
}

// The kernel's single steps over a ring equal attention over all positions with a window's mask, also where the ring's first
// buffer is the projections' own array.
func TestAttendStepsThroughAWindow(t *testing.T) {
	r := newRig(t)
	workers, err := native.NewWorkers(2)
	require.NoError(t, err)
	r.ends = append(r.ends, workers.Free)
	const n, window = 40, 8
	q, k, v := r.filled(dtype.Float32, 1, 1, 4, n, 16), r.filled(dtype.Float32, 2, 1, 2, n, 16), r.filled(dtype.Float32, 5, 1, 2, n, 16)
	want := r.scope.Own(r.apply("attend", []any{q, k, v, causalMask(r.call, n, 0, window)}, args("scale", 0.25))[0].Clone())
	for _, steps := range [][]int{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {5, 1, 1, 1, 1, 1, 7, 1, 1}, {8, 1, 1, 1}, {12, 1, 2, 1, 1, 8, 1, 1, 1, 1}} {
		decl := cacheState("heads", 2, "dim", 16, "window", window)
		cache := newCache(r, decl).(*rotatingCache)
		a := &native.Attention{Workers: workers, Scale: 0.25}
		first := 0
		for _, count := range steps {
			cache.Begin()
			clear(r.call.Memo)
			cut := func(a mlx.Array) mlx.Array { return along(r.scope, a, 2, first, first+count) }
			if count == 1 {
				got := cache.attend(r.call, a, cut(q), cut(k), cut(v))
				d, err := r.scope.Max(r.scope.Abs(r.scope.Subtract(got, cut(want))), false).ItemFloat()
				require.NoError(t, err)
				require.Less(t, d, 1e-5, "%v, position %d", steps, first)
			} else {
				keys, values := cache.Update(r.call.Scope, cut(k), cut(v))
				require.NoError(t, mlx.Eval(keys, values))
			}
			first += count
		}
	}
}

// A cache of another dtype holds what is written narrowed, and is read in the dtype that was written; the kernel reads it as
// MLX's attention reads it widened.
func TestCachesNarrow(t *testing.T) {
	r := newRig(t)
	workers, err := native.NewWorkers(2)
	require.NoError(t, err)
	r.ends = append(r.ends, workers.Free)
	a := &native.Attention{Workers: workers, Scale: 0.25}
	const n = 30
	q, k, v := r.filled(dtype.Float32, 1, 1, 4, n, 16), r.filled(dtype.Float32, 2, 1, 2, n, 16), r.filled(dtype.Float32, 5, 1, 2, n, 16)
	for _, limit := range []string{"", "window", "chunk"} {
		decl := cacheState("heads", 2, "dim", 16)
		if limit != "" {
			decl = cacheState("heads", 2, "dim", 16, limit, 8)
		}
		decl.Dtype, decl.Scheme = dtype.Float32, "bfloat16"
		kv := newCache(r, decl)
		per, _ := cacheKind().Bytes(*decl)
		require.True(t, limit != "" || per == 2*2*16*2)
		first := 0
		for _, count := range []int{3, 1, 1, 9, 1, 1, 1, 13} {
			kv.Begin()
			clear(r.call.Memo)
			cut := func(a mlx.Array) mlx.Array { return along(r.scope, a, 2, first, first+count) }
			switch cache := kv.(type) {
			case *fullCache:
				y := cache.attend(r.call, a, cut(q), cut(k), cut(v))
				keys, values := cache.Read(r.call.Scope)
				want := r.call.FastScaledDotProductAttention(cut(q), keys, values, 0.25, "causal", mlx.Array{}, mlx.Array{}, false)
				d, err := r.scope.Max(r.scope.Abs(r.scope.Subtract(want, y)), false).ItemFloat()
				require.NoError(t, err)
				require.Less(t, d, 1e-5, "position %d", first)
			case *rotatingCache:
				if count == 1 {
					cache.attend(r.call, a, cut(q), cut(k), cut(v))
					break
				}
				kv.Update(r.call.Scope, cut(k), cut(v))
			default:
				kv.Update(r.call.Scope, cut(k), cut(v))
			}
			keys, values := kv.Read(r.call.Scope)
			require.NoError(t, r.call.Err())
			require.Equal(t, dtype.Float32, keys.Dtype())
			for i, held := range kv.Arrays() {
				require.Equal(t, dtype.Bfloat16, held.Dtype())
				whole, read := []mlx.Array{k, v}[i], []mlx.Array{keys, values}[i]
				newest := along(r.scope, whole, 2, first+count-1, first+count)
				at := read.Dim(2) - 1
				if c, ok := kv.(*rotatingCache); ok {
					at = c.index - 1
				}
				require.Equal(t, numbersOf(t, r.scope.Astype(r.scope.Astype(newest, dtype.Bfloat16), dtype.Float32)),
					numbersOf(t, along(r.scope, read, 2, at, at+1)), "%s, position %d", limit, first)
			}
			first += count
		}
	}
}

func TestArrayState(t *testing.T) {
	r := newRig(t)
	v, err := arrayKind().New(plan.State{Path: "conv", Kind: "array", Args: args("shape", dims("B, 3")), Dtype: dtype.Bfloat16})
	require.NoError(t, err)
	r.ends = append(r.ends, v.Free)
	state := v.(registry.ArrayValue)
	zeros := state.Value(r.call.Scope, 2)
	require.Equal(t, []int{2, 3}, zeros.Shape())
	require.Equal(t, dtype.Bfloat16, zeros.Dtype())
	state.Set(r.call.Scope, r.call.Add(zeros, r.filled(dtype.Bfloat16, 1, 2, 3)))
	r.call.Scope.Free()
	require.NoError(t, mlx.Eval(state.Arrays()...))
	same(t, r.filled(dtype.Bfloat16, 1, 2, 3), state.Value(r.call.Scope, 2))
	state.Reset()
	require.Empty(t, state.Arrays())
	require.Zero(t, state.Offset())
}
