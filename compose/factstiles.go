package compose

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/trellis"
)

// tileCode is the code that markers beside tiles name; they hold its multiplier, which is always the same.
func (c *composer) tileCode(path string) string {
	for _, code := range []string{trellis.CodeMCG, trellis.CodeMUL1} {
		if c.has(path + "." + code) {
			return code
		}
	}
	return trellis.Code3Inst
}

// storedTiles reads a weight that exllamav3 wrote: codes in tiles, with a rotation and a vector of scales with signs on either side.
// The tensors alone say all; the tables beside them repeat it.
func (c *composer) storedTiles(w *plan.Weight, lead []int, at diag.Range) bool {
	f := &w.Facts
	g := trellis.Tiles{Code: c.tileCode(w.Path), Inputs: f.Inputs, Outputs: f.Outputs}
	w.Tensor, _ = c.tensor(w.Path+".trellis", at)
	t := c.plan.Tensors[w.Tensor]
	if len(t.Shape) == 3 {
		g.Bits = t.Shape[2] * 16 / trellis.TileWeights
	}
	if len(lead) > 0 {
		c.list.Errorf("quantization", at, "%s holds several matrices, and %s tiles are of one", w.Path, trellis.TileStorage)
		return false
	}
	if c.has(w.Path+"."+trellis.CodeMCG) && c.has(w.Path+"."+trellis.CodeMUL1) {
		c.list.Errorf("quantization", at, "%s has markers of two codes, %s.%s and %s.%s", w.Path, w.Path, trellis.CodeMCG, w.Path, trellis.CodeMUL1).
			Helped("one of them says what the states stand for; without either it is %s", trellis.Code3Inst)
		return false
	}
	if err := g.Check(); err != nil {
		c.list.Errorf("quantization", at, "%s: %v%s", w.Path, err, storedIn(t))
		return false
	}
	f.Storage, f.Bits, f.Group, f.Mode, f.Layout, f.Dtype = trellis.TileStorage, g.Bits, trellis.TileWeights, g.Code, trellis.TileLayout, dtype.Float16
	if !c.tilePart(t, g, dtype.Int16, g.Shape(), at) || !c.tileSides(w, g, at) {
		return false
	}
	_, outputs := g.Padded()
	if f.Bias {
		var ok bool
		if w.Bias, ok = c.tensor(w.Path+".bias", at); !ok || !c.tilePart(c.plan.Tensors[w.Bias], g, dtype.Float16, []int{outputs}, at) {
			return false
		}
	}
	for _, name := range []string{trellis.CodeMCG, trellis.CodeMUL1, "scale"} { // an old .scale means nothing
		if c.has(w.Path + "." + name) {
			i, _ := c.tensor(w.Path+"."+name, at)
			w.More = append(w.More, i)
		}
	}
	return true
}

// tileSides are the scales with signs of the inputs and of the outputs, or in older files the signs alone, a bit each.
func (c *composer) tileSides(w *plan.Weight, g trellis.Tiles, at diag.Range) bool {
	inputs, outputs := g.Padded()
	for _, side := range []struct {
		name, signs string
		n           int
	}{{"suh", "su", inputs}, {"svh", "sv", outputs}} {
		name, d, size := side.name, dtype.Float16, side.n
		if !c.has(w.Path+"."+name) && c.has(w.Path+"."+side.signs) {
			name, d, size = side.signs, dtype.Int16, side.n/16
		}
		i, ok := c.tensor(w.Path+"."+name, at)
		if !ok || !c.tilePart(c.plan.Tensors[i], g, d, []int{size}, at) {
			return false
		}
		w.More = append(w.More, i)
	}
	return true
}

func (c *composer) tilePart(t plan.Tensor, g trellis.Tiles, d dtype.Dtype, want []int, at diag.Range) bool {
	if t.Dtype == d && slices.Equal(t.Shape, want) {
		return true
	}
	diagnostic := c.list.Errorf("shape-mismatch", at, "the tensor %s is %s %v, where %s of [%d, %d] wants %s %v%s", t.Name, t.Dtype, t.Shape, g, g.Outputs, g.Inputs, d, want, storedIn(t))
	if inputs, outputs := g.Padded(); inputs != g.Inputs || outputs != g.Outputs {
		diagnostic.Helped("inputs and outputs are filled up to a multiple of %d: [%d, %d]", trellis.TilePad, outputs, inputs)
	}
	return false
}

// computed holds ports to storages that something computes. A class may be there before any kernel of it, so that plans can be
// composed with it; where it is the exact class of a storage nothing else can take its place.
func (c *composer) computed() {
	found := map[string]*diag.Diagnostic{}
	ports := map[string]int{}
	for i := range c.plan.Ports {
		p := &c.plan.Ports[i]
		if len(p.Weights) != 1 || c.notes[i].twin >= 0 {
			continue
		}
		for _, row := range p.Rows {
			class := c.reg.Class(c.plan.Instances[row.Instance].Class)
			if class == nil || class.Build != nil || len(class.ExactFor) == 0 {
				continue
			}
			f := c.plan.Weights[p.Weights[0]].Facts
			t := c.plan.Tensors[c.plan.Weights[p.Weights[0]].Tensor]
			path := generalised(p.Path)
			key := fmt.Sprint(path, f.Bits, f.Mode, t.Shape)
			ports[key]++
			stored := fmt.Sprintf("stored as %s, %d bits, code %s, %s %v of [%d, %d]", f.Storage, f.Bits, f.Mode, f.Layout, t.Shape, f.Outputs, f.Inputs)
			if d := found[key]; d != nil {
				d.Message = fmt.Sprintf("%s (%d ports) is %s; no class here computes that yet", path, ports[key], stored)
				break
			}
			d := c.list.Errorf("no-class", p.Place, "%s is %s; no class here computes that yet", p.Path, stored)
			if len(found) == 0 {
				d.Helped("%s is its class to compose with, without a kernel for any device", class.Name).
					Helped("code the checkpoint that it was made of by rows instead: graphrun quantize --format trellis --bits %d", min(max(f.Bits, 2), 4))
			}
			found[key] = d
			break
		}
	}
}
