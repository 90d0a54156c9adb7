package quantize

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/trellis"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/view"
)

// maker carries out tasks.
type maker struct {
	options Options
	files   *weights.Files
	worker  *mlx.Worker
	done    atomic.Int64 // weights
	total   int64
}

func makeAll(ctx context.Context, o Options, from *weights.Files, w *work, tasks []*task) (*Report, error) {
	m := &maker{options: o, files: from, worker: mlx.NewWorker()}
	defer m.worker.Close()
	for _, t := range tasks {
		m.total += t.weights
	}
	r := &Report{}
	m.step(0)
	for _, t := range tasks {
		ready, err := w.finished(t)
		if err != nil {
			return nil, err
		}
		if ready {
			if t.format != Keep {
				r.Resumed++
			}
			m.step(t.weights)
			r.add(t, w.done[t.outputs[0].name])
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parts, e, err := m.make(ctx, t)
		if err == nil {
			err = w.put(t, parts, e)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.path, err)
		}
		r.add(t, e)
	}
	return r, nil
}

func (m *maker) step(n int64) {
	if done := m.done.Add(n); m.options.Progress != nil {
		m.options.Progress(done, m.total)
	}
}

// make gives the bytes of a task's tensors, in their order.
func (m *maker) make(ctx context.Context, t *task) ([][]byte, entry, error) {
	switch t.format {
	case Trellis:
		var rows []float32
		err := m.open(ctx, []*view.Recipe{t.from}, func(a []mlx.Array) (err error) {
			rows, err = a[0].Float32s()
			return err
		})
		if err != nil {
			return nil, entry{}, err
		}
		return m.codes(ctx, t, rows)
	case Fused:
		parts, err := m.fuse(ctx, t)
		return parts, entry{}, err
	case Affine:
		recipes := make([]*view.Recipe, len(t.outputs))
		for i, o := range t.outputs {
			recipes[i] = &view.Recipe{Op: view.OpQuantize, Inputs: []*view.Recipe{t.from}, Quant: &t.quant, Part: i, Shape: o.shape, Dtype: t.from.Dtype}
		}
		parts, err := m.bytes(ctx, recipes)
		m.step(t.weights)
		return parts, entry{}, err
	}
	parts, err := m.bytes(ctx, []*view.Recipe{t.from})
	return parts, entry{}, err
}

func (m *maker) bytes(ctx context.Context, recipes []*view.Recipe) (out [][]byte, err error) {
	err = m.open(ctx, recipes, func(arrays []mlx.Array) error {
		for _, a := range arrays {
			b, err := a.Bytes()
			if err != nil {
				return err
			}
			out = append(out, b)
		}
		return nil
	})
	return out, err
}

// open makes arrays on the worker's thread and lets go of them after use.
func (m *maker) open(ctx context.Context, recipes []*view.Recipe, use func([]mlx.Array) error) error {
	return m.worker.Do(func() error {
		stream, err := mlx.DefaultStream(mlx.DeviceCPU)
		if err != nil {
			return err
		}
		scope := mlx.NewScope(stream)
		defer scope.Free()
		arrays, err := m.files.Load(ctx, scope, recipes, weights.Options{})
		if err != nil {
			return err
		}
		return use(arrays)
	})
}

// codes chooses trellis codes, rows shared among the workers.
func (m *maker) codes(ctx context.Context, t *task, rows []float32) ([][]byte, entry, error) {
	g := t.geometry
	var e entry
	halves, scales := make([]uint16, g.Rows), make([]float32, g.Rows)
	for r := range g.Rows {
		row := rows[r*g.Columns : (r+1)*g.Columns]
		var err error
		if halves[r], scales[r], err = trellis.Scale(row); err != nil {
			return nil, e, fmt.Errorf("row %d of what is coded: %w", r, err)
		}
		for _, v := range row {
			e.Power += float64(v) * float64(v)
		}
	}
	codes := make([]uint32, g.Words())
	perRow := g.Columns / g.Block * g.BlockWords()
	workers := m.options.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	// A call sets up memory of some hundred KiB, so it gets several rows; and few enough that the bar moves and an
	// interruption is heard.
	step := max(1, min(64, (1<<15)/g.Columns))
	errors := make([]float64, g.Rows)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for from := 0; from < g.Rows && inner.Err() == nil; from += step {
		group.Go(func() error {
			to := min(g.Rows, from+step)
			err := native.EncodeTrellis(g, rows[from*g.Columns:to*g.Columns], scales[from:to], codes[from*perRow:to*perRow], errors[from:to])
			for r := from; r < to && err == nil; r++ {
				err = recode(g, rows[r*g.Columns:(r+1)*g.Columns], &halves[r], scales[r], codes[r*perRow:(r+1)*perRow], &errors[r])
			}
			m.step(int64(to-from) * int64(g.Columns))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, e, err
	}
	if err := ctx.Err(); err != nil {
		return nil, e, err
	}
	for _, x := range errors {
		e.Error += x
	}
	if g.Layout == trellis.Interleaved {
		var err error
		if codes, err = trellis.Interleave(g, codes); err != nil {
			return nil, e, err
		}
	}
	return [][]byte{littleEndian(codes), littleEndian(halves)}, e, nil
}

// recode tries larger scales for a row whose large weights are cut off, as long as its error falls.
func recode(g trellis.Geometry, row []float32, half *uint16, scale float32, codes []uint32, least *float64) error {
	halves, scales := trellis.Larger(row, scale)
	other, far := make([]uint32, len(codes)), make([]float64, 1)
	for i := range scales {
		if err := native.EncodeTrellis(g, row, scales[i:i+1], other, far); err != nil {
			return err
		}
		if far[0] >= *least {
			return nil
		}
		*half, *least = halves[i], far[0]
		copy(codes, other)
	}
	return nil
}

// littleEndian gives the numbers' bytes as files have them.
func littleEndian[T uint16 | uint32](v []T) []byte {
	size := int(unsafe.Sizeof(T(0)))
	out := make([]byte, len(v)*size)
	for i, x := range v {
		for b := range size {
			out[i*size+b] = byte(x >> (8 * b))
		}
	}
	return out
}
