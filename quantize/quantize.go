package quantize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/trellis"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/header"
)

// Options say what is made of what.
type Options struct {
	Source *header.Checkpoint
	Target string // the new folder; it must not be there, or be empty
	Plan   *Plan
	Bits   int // where a line says none; 0: 4
	Group  int // of affine codes, where a line says none; 0: 64

	// Files are the tokenizer's, by name, of a source that has none of its own (a GGUF file).
	Files map[string][]byte

	ShardBytes int64 // of data in a file; 0: 4 GiB
	Workers    int   // that choose codes; 0: as many as the processors
	// Progress is told how many of the weights that are made anew are done. It must be quick.
	Progress func(done, total int64)
}

// Made is a weight of the new checkpoint that is stored in another way.
type Made struct {
	Path     string
	Quant    header.Quant
	Geometry trellis.Geometry // of trellis codes
	// Error is the mean squared error of trellis codes over the mean square of the weights; NaN of affine codes.
	Error float64
}

// Report is what a run made.
type Report struct {
	Made          []Made
	Kept          int // tensors
	Resumed       int // weights that an earlier run had finished
	Before, After int64
}

const (
	defaultBits  = 4
	defaultGroup = 64
	defaultShard = 4 << 30
)

// Run makes the new checkpoint. What is wrong with the plan for this source goes to the list. After an error or an
// interruption the same call goes on with what is finished.
func Run(ctx context.Context, o Options, list *diag.List) (*Report, error) {
	if !mlx.Available {
		return nil, mlx.ErrNoMLX
	}
	ck := o.Source
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &chooser{ck: ck, plan: o.Plan, bits: o.Bits, group: o.Group, list: list}
	if c.bits == 0 {
		c.bits = defaultBits
	}
	if c.group == 0 {
		c.group = defaultGroup
	}
	tasks := c.tasks()
	if list.HasErrors() {
		return nil, nil
	}
	return o.run(ctx, tasks)
}

// run carries tasks out.
func (o *Options) run(ctx context.Context, tasks []*task) (*Report, error) {
	ck := o.Source
	if o.ShardBytes <= 0 {
		o.ShardBytes = defaultShard
	}
	shards, err := layout(tasks, o.ShardBytes)
	if err != nil {
		return nil, err
	}
	files, err := settings(ck, tasks, shards, o.Files)
	if err != nil {
		return nil, err
	}
	manifest, err := manifestOf(ck, tasks, shards)
	if err != nil {
		return nil, err
	}
	from, err := weights.OpenFiles(ck)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	w, err := openWork(o.Target+".partial", manifest, shards)
	if err != nil {
		return nil, err
	}
	defer w.close()
	r, err := makeAll(ctx, *o, from, w, tasks)
	if err != nil {
		return nil, err
	}
	for i := range ck.Tensors {
		r.Before += ck.Tensors[i].Bytes()
	}
	for _, s := range shards {
		r.After += s.size
	}
	return r, w.finish(o.Target, files)
}

func (o *Options) check() error {
	ck := o.Source
	if ck.Config == nil {
		return fmt.Errorf("%s: no config.json beside it, where the new checkpoint's quantization table would go", ck.Path)
	}
	if q := ck.Quantization; q.Method != "" && q.Default == nil {
		return fmt.Errorf("%s: its weights are stored as %s, which is not unpacked here", ck.Path, q.Method)
	}
	source, err := filepath.EvalSymlinks(ck.Path)
	if err != nil {
		return err
	}
	if o.Target == "" {
		return errors.New("no target is named")
	}
	if info, err := os.Stat(o.Target); err == nil {
		if there, e := os.ReadDir(o.Target); !info.IsDir() || e != nil || len(there) > 0 {
			return fmt.Errorf("%s is there already; name a folder that is not", o.Target)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	target, err := filepath.Abs(o.Target)
	if err != nil {
		return err
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(target)); err != nil {
		return err
	} else if inside, err := filepath.Rel(source, parent); err == nil && filepath.IsLocal(inside) {
		return fmt.Errorf("%s lies in the source, %s; name a folder outside it", o.Target, ck.Path)
	}
	return nil
}

// manifestOf says what is made of what: the source's files by size and time, and every task with its tensors' places.
func manifestOf(ck *header.Checkpoint, tasks []*task, shards []shard) ([]byte, error) {
	type file struct {
		Path string `json:"path"`
		Size int64  `json:"size"`
		Time int64  `json:"time"`
	}
	type line struct {
		Path    string       `json:"path"`
		Format  string       `json:"format"`
		Quant   header.Quant `json:"quant"`
		Layout  string       `json:"layout,omitempty"`
		Offsets []int64      `json:"offsets"`
		Merges  []string     `json:"merges,omitempty"` // factors' files, places and scales
	}
	var m struct {
		Sources []file   `json:"sources"`
		Shards  []string `json:"shards"`
		Tasks   []line   `json:"tasks"`
	}
	for _, path := range ck.Files {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		m.Sources = append(m.Sources, file{abs, info.Size(), info.ModTime().UnixNano()})
	}
	for _, path := range mergeFiles(tasks) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		m.Sources = append(m.Sources, file{path, info.Size(), info.ModTime().UnixNano()})
	}
	for _, s := range shards {
		m.Shards = append(m.Shards, fmt.Sprintf("%s %d", s.name, s.size))
	}
	for _, t := range tasks {
		l := line{Path: t.path, Format: t.format, Quant: t.quant, Layout: t.geometry.Layout}
		for _, o := range t.outputs {
			l.Offsets = append(l.Offsets, o.offset)
		}
		for _, x := range t.merges {
			l.Merges = append(l.Merges, x.text())
		}
		m.Tasks = append(m.Tasks, l)
	}
	data, err := json.MarshalIndent(m, "", " ")
	return append(data, '\n'), err
}

func (r *Report) add(t *task, e entry) {
	if t.format == Keep {
		r.Kept++
		return
	}
	m := Made{Path: t.path, Quant: t.quant, Geometry: t.geometry, Error: math.NaN()}
	if t.format == Trellis {
		m.Error = 0
		if e.Power > 0 {
			m.Error = e.Error / e.Power
		}
	}
	r.Made = append(r.Made, m)
}
