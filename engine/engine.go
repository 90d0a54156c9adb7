package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/view"
)

// Loader opens weights: the arrays belong to the scope. It is called on the engine's thread. *weights.Files is one.
type Loader interface {
	Load(ctx context.Context, sc *mlx.Scope, recipes []*view.Recipe, o weights.Options) ([]mlx.Array, error)
}

// Options are the settings of an engine. The zero value opens on MLX's default device without limits.
type Options struct {
	Device  string // cpu, gpu; "": MLX's default
	Threads int    // of the CPU's own kernels; 0: as many as the processors
	Context int    // positions that a session may take; 0: no limit
	Batch   int    // sequences that memory is planned for; 0: 1
	// Chunk is the most tokens per forward that memory is planned for; 0: DefaultPrefillStep.
	Chunk int
	// MemoryBudget is what weights, states and values may take together, in bytes; 0: no limit. States count at
	// Context positions, or 4096 where there is no limit.
	MemoryBudget int64
	// Apart runs every call by itself, also what the plan has run as one: for traces.
	Apart bool
	// OnProgress is told the bytes of the opened weights, on any goroutine but one at a time. It must be quick and not call
	// the engine.
	OnProgress func(done, total int64)

	compile bool // blocks that are marked so on the CPU too: for tests
}

// Engine is a plan that runs.
type Engine struct {
	plan     *plan.Plan
	registry *registry.Registry
	options  Options
	estimate Estimate
	entries  []string
	tables   []*table
	worker   *mlx.Worker

	// What follows is touched on the worker only.
	stream    mlx.Stream
	device    registry.Device
	workers   *native.Workers // of the CPU
	async     bool            // submit the second step before the first token is read too: GPUs
	fuse      bool            // run blocks that are marked compiled as one compiled function
	tensors   []mlx.Array
	constants []mlx.Array
	kept      map[mlx.Array]bool // tensors and constants
	scope     *mlx.Scope         // for loading and building
	memo      map[any]any
	cleanups  []func() // what constructors made beside arrays
	instances map[bound]registry.Run
	sessions  map[*Session]struct{}
	mounted   []*mounted
	sets      map[string]*active // by the names, joined
	closed    bool

	shut sync.Once
}

// Open checks a plan, compares its memory with the budget, opens every tensor once and builds every operator and
// class. Errors carry the path in the graph and the source position. The caller closes the engine.
func Open(ctx context.Context, p *plan.Plan, r *registry.Registry, loader Loader, o Options) (*Engine, error) {
	if !mlx.Available {
		return nil, mlx.ErrNoMLX
	}
	if err := check(p); err != nil {
		return nil, err
	}
	if o.Threads < 0 {
		return nil, fmt.Errorf("%d threads: 0 takes as many as there are processors", o.Threads)
	}
	if o.Chunk <= 0 {
		o.Chunk = DefaultPrefillStep
	}
	o.Batch = max(o.Batch, 1)
	positions := o.Context
	if positions <= 0 {
		positions = 4096
	}
	device := o.Device
	if device == "" && mlx.DefaultDevice().IsGPU() {
		device = "gpu"
	}
	if err := checkKernels(p, r, device); err != nil {
		return nil, err
	}
	est, err := EstimateFor(p, r, Demand{positions, o.Batch, o.Chunk, device})
	if err != nil {
		return nil, err
	}
	if err := est.Fits(o.MemoryBudget); err != nil {
		return nil, err
	}
	e := &Engine{plan: p, registry: r, options: o, estimate: est, worker: mlx.NewWorker(),
		memo: map[any]any{}, kept: map[mlx.Array]bool{}, sessions: map[*Session]struct{}{}, sets: map[string]*active{}}
	if err := e.worker.Do(func() error { return e.open(ctx, loader) }); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) open(ctx context.Context, loader Loader) error {
	if err := e.start(); err != nil {
		return err
	}
	if err := e.load(ctx, loader); err != nil {
		return err
	}
	return e.build(ctx)
}

func (e *Engine) start() error {
	d := mlx.DefaultDevice()
	switch e.options.Device {
	case "":
	case "cpu":
		d = mlx.DeviceCPU
	case "gpu":
		d = mlx.DeviceGPU
		all, err := mlx.Devices()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, mlx.Device.IsGPU) {
			return fmt.Errorf("this MLX has no GPU: its devices are %v", all)
		}
	default:
		return fmt.Errorf("device %q is neither cpu nor gpu", e.options.Device)
	}
	// The thread's default stream, since MLX puts there what it makes without being told a stream. With two streams a token
	// took twice as long on an H200: each change between them is an event.
	if err := mlx.SetDefaultDevice(d); err != nil {
		return err
	}
	stream, err := mlx.DefaultStream(d)
	if err != nil {
		return err
	}
	e.stream, e.scope, e.async = stream, mlx.NewScope(stream), d.IsGPU()
	e.fuse = d.IsGPU() || e.options.compile
	e.device = registry.Device{Kind: "cpu"}
	if d.IsGPU() {
		e.device.Kind = "gpu"
	} else if e.workers, err = native.NewWorkers(cmp.Or(e.options.Threads, runtime.GOMAXPROCS(0))); err != nil {
		return err
	}
	if info, err := d.Info(); err == nil {
		e.device.Arch = info["architecture"]
	}
	return nil
}

// Plan is what the engine runs.
func (e *Engine) Plan() *plan.Plan { return e.plan }

// Memory is the estimate made before opening.
func (e *Engine) Memory() Estimate { return e.estimate }

// Device is where the engine runs.
func (e *Engine) Device() registry.Device { return e.device }

// Close frees the weights, the constants and every session, and ends the engine's thread. It waits for the step that
// is running. It may be called twice.
func (e *Engine) Close() {
	e.shut.Do(func() {
		_ = e.worker.Do(func() error {
			e.closed = true
			if e.stream.Valid() {
				_ = mlx.Synchronize(e.stream)
			}
			for s := range e.sessions {
				s.free()
			}
			for _, v := range e.memo {
				if a, isArray := v.(mlx.Array); isArray && e.kept[a] {
					continue // a constant: freed with them
				}
				if f, ok := v.(interface{ Free() }); ok {
					f.Free()
				}
			}
			clear(e.memo)
			if e.scope != nil {
				e.scope.Free()
			}
			for _, m := range e.mounted {
				m.free()
			}
			for _, set := range e.sets {
				set.end()
			}
			clear(e.sets)
			e.mounted = nil
			for _, f := range e.cleanups {
				f()
			}
			mlx.FreeAll(present(e.tensors)...)
			mlx.FreeAll(e.constants...)
			e.tensors, e.constants, e.instances, e.tables, e.cleanups = nil, nil, nil, nil, nil
			_ = mlx.ClearCache()
			if e.stream.Valid() {
				e.stream.Free()
			}
			if e.workers != nil {
				e.workers.Free()
			}
			return nil
		})
		e.worker.Close()
	})
}

func present(arrays []mlx.Array) []mlx.Array {
	out := make([]mlx.Array, 0, len(arrays))
	for _, a := range arrays {
		if a.Valid() {
			out = append(out, a)
		}
	}
	return out
}

// do runs a job on the engine's thread.
func (e *Engine) do(f func() error) error {
	return e.worker.Do(func() error {
		if e.closed {
			return ErrClosed
		}
		return guarded(f)
	})
}

// keep makes the engine own an array until it closes. What several constructors share may be kept by each.
func (e *Engine) keep(a mlx.Array) mlx.Array {
	if a.Valid() && !e.kept[a] {
		e.kept[a] = true
		e.scope.Keep(a)
		e.constants = append(e.constants, a)
	}
	return a
}

// cleanup registers what is to run when the engine closes.
func (e *Engine) cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

// tensorPlace finds a call that reads a tensor, for errors.
func (e *Engine) tensorPlace(tensor int) (string, diag.Range) {
	holds := func(w plan.Weight) bool {
		return slices.Contains(w.Tensors(), tensor)
	}
	for _, port := range e.plan.Ports {
		for _, w := range port.Weights {
			if w >= 0 && w < len(e.plan.Weights) && holds(e.plan.Weights[w]) {
				return port.Path, port.Place
			}
		}
	}
	for _, g := range e.plan.Programs {
		for _, c := range g.Calls {
			for _, in := range c.In {
				if in.Kind == plan.FromTensor && in.Index == tensor {
					return c.Path, c.At
				}
			}
		}
	}
	return "", diag.Range{}
}
