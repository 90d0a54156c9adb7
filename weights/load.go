package weights

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// Options of Load; the zero value is good.
type Options struct {
	Workers int // that unpack and read ahead; 0: as many as the processors
	// ReadAhead reads the ranges that arrays map, so that the first forward does not wait for the disk page by page.
	ReadAhead bool
	// Progress is told, on the workers' goroutines, how many of the stored bytes are read. It must be quick.
	Progress func(done, total int64)
}

// Make opens one weight; the array belongs to the scope.
func (f *Files) Make(sc *mlx.Scope, r *view.Recipe) (mlx.Array, error) {
	out, err := f.Load(context.Background(), sc, []*view.Recipe{r}, Options{})
	if err != nil {
		return mlx.Array{}, err
	}
	return out[0], nil
}

// Load opens weights, in the order of the recipes; the arrays belong to the scope. What recipes compute is evaluated, so
// it must be called on the thread of the scope's stream. On an error nothing is left in the scope.
func (f *Files) Load(ctx context.Context, sc *mlx.Scope, recipes []*view.Recipe, o Options) ([]mlx.Array, error) {
	l := &loader{files: f, options: o, sources: map[*header.Tensor]*source{}, unpacked: map[place]*job{}}
	defer l.lasting.done()
	defer l.passing.done()
	for _, r := range recipes {
		if err := l.need(r, r.Op == view.OpSource); err != nil {
			return nil, err
		}
	}
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	return l.build(ctx, sc, recipes)
}

// loader is one call of Load.
type loader struct {
	files    *Files
	options  Options
	sources  map[*header.Tensor]*source
	jobs     []*job
	unpacked map[place]*job
	// Memory of unpacked tensors: of weights, and of what weights are computed from and goes with that.
	lasting, passing arena
}

// source is a stored tensor as an array will map it.
type source struct {
	tensor *header.Tensor
	region *region
	data   []byte
}

// job is stored bytes that have to be read before arrays are made: unpacked, copied, or only brought into memory.
type job struct {
	path   string
	file   []byte    // mapped
	offset int       // in it
	stored []byte    // from there
	parts  [3][]byte // of codes, scales, biases; nil where nobody asked
	unpack *codec
	copyTo []byte
}

// pages are the whole pages of the file from that of `from`, in the stored bytes, to that of `to`.
func (j *job) pages(from, to int) []byte {
	page := os.Getpagesize()
	return j.file[(j.offset+from)/page*page : (j.offset+to)/page*page]
}

// need notes the stored tensors of a recipe; lasting: it is one, so its memory is the weight's.
func (l *loader) need(r *view.Recipe, lasting bool) error {
	if r.Op != view.OpSource {
		for _, in := range r.Inputs {
			if err := l.need(in, false); err != nil {
				return err
			}
		}
		return nil
	}
	if l.sources[r.Tensor] != nil {
		return nil
	}
	s, err := l.source(r.Tensor, lasting)
	if err != nil {
		return fmt.Errorf("tensor %s: %w", r.Tensor.Name, err)
	}
	l.sources[r.Tensor] = s
	return nil
}

func (l *loader) source(t *header.Tensor, lasting bool) (*source, error) {
	file, err := l.files.file(t.File)
	if err != nil {
		return nil, err
	}
	if t.Offset < 0 || t.Size < 0 || t.Offset > int64(len(file.data)) || t.Size > int64(len(file.data))-t.Offset {
		return nil, fmt.Errorf("%s: bytes %d to %d are not in the file", t.File, t.Offset, t.Offset+t.Size)
	}
	stored := file.data[t.Offset : t.Offset+t.Size : t.Offset+t.Size]
	if t.Codec == "" && t.Offset%int64(t.Dtype.Size()) == 0 { // mapped files begin at a page
		if l.options.ReadAhead && len(stored) > 0 {
			l.jobs = append(l.jobs, &job{path: t.File, file: file.data, offset: int(t.Offset), stored: stored})
		}
		return &source{t, file, stored}, nil
	}
	to := &l.passing
	if lasting {
		to = &l.lasting
	}
	r, data, err := to.piece(int(t.Bytes()))
	if err != nil {
		return nil, err
	}
	if t.Codec == "" {
		l.jobs = append(l.jobs, &job{path: t.File, file: file.data, offset: int(t.Offset), stored: stored, copyTo: data})
		return &source{t, r, data}, nil
	}
	c, part, err := splitCodec(t.Codec)
	if err != nil {
		return nil, err
	}
	blocks := len(stored) / c.blockBytes
	if blocks*c.blockBytes != len(stored) || len(data) != blocks*c.partBytes(part) {
		return nil, fmt.Errorf("%d stored bytes do not give %v of %s", len(stored), t.Shape, t.Codec)
	}
	l.blocks(t, file, stored, &c).parts[partIndex[part]] = data
	return &source{t, r, data}, nil
}

// blocks finds the job that reads a tensor's blocks, so that codes, scales and biases come from one reading.
func (l *loader) blocks(t *header.Tensor, file *region, stored []byte, c *codec) *job {
	key := place{t.File, t.Offset}
	if l.unpacked[key] == nil {
		l.unpacked[key] = &job{path: t.File, file: file.data, offset: int(t.Offset), stored: stored, unpack: c}
		l.jobs = append(l.jobs, l.unpacked[key])
	}
	return l.unpacked[key]
}

type place struct {
	file   string
	offset int64
}

func (c codec) partBytes(part string) int {
	if part == "weight" {
		return c.codeBytes
	}
	return 2
}

var partIndex = map[string]int{"weight": 0, "scales": 1, "biases": 2}

// read does the jobs, cut into pieces, with several workers.
func (l *loader) read(ctx context.Context) error {
	var done, total atomic.Int64
	for _, j := range l.jobs {
		total.Add(int64(len(j.stored)))
	}
	workers := l.options.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	g, group := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, j := range l.jobs {
		for from, step := 0, j.step(); from < len(j.stored); from += step {
			if group.Err() != nil {
				break
			}
			to := min(len(j.stored), from+step)
			g.Go(func() error {
				if err := j.do(from, to); err != nil {
					return err
				}
				if n := done.Add(int64(to - from)); l.options.Progress != nil {
					l.options.Progress(n, total.Load())
				}
				return group.Err()
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, j := range l.jobs {
		if j.passing() { // reading a piece has mapped some pages around it again
			drop(j.pages(0, len(j.stored)))
		}
	}
	return ctx.Err()
}

// passing tells whether the stored bytes are of no use once they are read.
func (j *job) passing() bool { return j.unpack != nil || j.copyTo != nil }

// step is the size of a job's pieces: large enough to be worth a goroutine, small enough to share and to show progress.
func (j *job) step() int {
	const about = 4 << 20
	if j.unpack != nil {
		return about / j.unpack.blockBytes * j.unpack.blockBytes
	}
	return about
}

// do reads the stored bytes from `from` to `to`, and gives their pages back where they have become memory of their own.
func (j *job) do(from, to int) error {
	if j.passing() {
		defer drop(j.pages(from, to))
	}
	switch {
	case j.copyTo != nil:
		return guarded(j.path, func() { copy(j.copyTo[from:to], j.stored[from:to]) })
	case j.unpack == nil:
		page := os.Getpagesize()
		if err := populate(j.file[(j.offset+from)/page*page : j.offset+to]); err != nil {
			return fmt.Errorf("%s: reading it: %w", j.path, err)
		}
		return nil
	}
	first, last := from/j.unpack.blockBytes, to/j.unpack.blockBytes
	cut := func(part []byte, size int) []byte {
		if part == nil {
			return nil
		}
		return part[first*size : last*size]
	}
	return guarded(j.path, func() {
		j.unpack.unpack(cut(j.parts[0], j.unpack.codeBytes), cut(j.parts[1], 2), cut(j.parts[2], 2), j.stored[from:to])
	})
}
