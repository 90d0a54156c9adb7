package model

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/quantize"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/adapter"
)

// Adapter is a LoRA adapter to mount.
type Adapter struct {
	Path     string   // the folder
	Name     string   // by which Settings choose it; "": the folder's name
	Strength *float64 // what its own scale is multiplied by; nil: 1
}

// ParseAdapter reads DIR or DIR=STRENGTH.
func ParseAdapter(text string) (Adapter, error) {
	a := Adapter{Path: text}
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		v, err := strconv.ParseFloat(text[i+1:], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return a, fmt.Errorf("adapter %s: %q after = is no strength: write DIR=0.5", text, text[i+1:])
		}
		a.Path, a.Strength = text[:i], &v
	}
	if a.Path == "" {
		return a, fmt.Errorf("adapter %q names no folder", text)
	}
	return a, nil
}

// name is what an adapter is called: + and commas join names.
func (a Adapter) name() string {
	if a.Name != "" {
		return a.Name
	}
	abs, err := filepath.Abs(a.Path)
	if err != nil {
		abs = a.Path
	}
	return strings.NewReplacer("+", "-", ",", "-").Replace(filepath.Base(abs))
}

// mount opens adapters in their order.
func (m *Model) mount(ctx context.Context, list []Adapter) error {
	for _, a := range list {
		read, err := adapter.Read(a.Path, m.engine.Plan())
		if err != nil {
			return err
		}
		files, err := weights.OpenFiles(read.Checkpoint)
		if err != nil {
			return err
		}
		err = m.engine.Mount(ctx, a.name(), read, files, a.strength())
		_ = files.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Fuse writes a checkpoint with adapters added to its weights: quantize.Fuse, with the plan of the model that recognises the
// checkpoint (or of a graph file) to say which weights the adapters' modules are. Of o it takes what says where and how.
func Fuse(ctx context.Context, checkpoint, graph string, list []Adapter, dense bool, o quantize.Options) (*quantize.Report, error) {
	ck, err := OpenHeaders(checkpoint)
	if err != nil {
		return nil, err
	}
	m := &Model{ck: ck}
	p, _, err := m.compose(ctx, Options{Graph: graph, Exact: true, Device: "cpu"})
	if err != nil {
		return nil, err
	}
	var merges []quantize.Merge
	for _, a := range list {
		read, err := adapter.Read(a.Path, p)
		if err != nil {
			return nil, err
		}
		merges = append(merges, quantize.Merge{Adapter: read, Strength: a.strength()})
	}
	o.Source = ck
	if o.Files, err = TokenizerFiles(ck); err != nil {
		return nil, err
	}
	return quantize.Fuse(ctx, o, p, merges, dense)
}

func (a Adapter) strength() float64 {
	if a.Strength == nil {
		return 1
	}
	return *a.Strength
}
