package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/trellis"
	"github.com/graphrun/graphrun/weights/header"
)

// fingerprint is the first 16 hex digits of SHA-256 over the model's name and, sorted, each canonical tensor's name,
// storage, dtype, bits, group, mode, layout and shape, a line each.
func (c *composer) fingerprint() string {
	h := sha256.New()
	fmt.Fprintln(h, c.model.Name.Text)
	for _, name := range sortedKeys(c.recipes) {
		r := c.recipes[name]
		path, isWeight := strings.CutSuffix(name, ".weight")
		storage, bits, group, mode, layout := "dense", 0, 0, "", ""
		if isWeight && c.has(path+".scales") {
			storage = "affine"
			if q, ok := c.quant.For(path); ok {
				bits, group, mode = q.Bits, q.GroupSize, q.Mode
				if mode == header.Trellis {
					storage, mode, layout = "trellis", fmt.Sprint(trellis.Code, " axis ", q.Axis), trellis.Row
					if len(r.Shape) == 3 {
						layout = trellis.Interleaved
					}
				}
			}
		}
		if path, isTiles := strings.CutSuffix(name, ".trellis"); isTiles && len(r.Shape) == 3 {
			storage, bits, group, mode, layout = trellis.TileStorage, r.Shape[2]*16/trellis.TileWeights, trellis.TileWeights, c.tileCode(path), trellis.TileLayout
		}
		fmt.Fprintln(h, name, storage, r.Dtype, bits, group, mode, layout, r.Shape)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
