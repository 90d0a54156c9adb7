package explain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/view"
)

// Hash is SHA-256 over the plan's canonical JSON: equal hashes run the same calls on the same weights. Paths and places of
// files are no part of it, and neither are offsets in files, the names of variants, and what was left out: a plan moved
// to another folder, or made by a variant that decides nothing, is the same plan.
func Hash(p *plan.Plan) (string, error) {
	c := *p
	c.Variants, c.Dropped, c.Unasked = nil, nil, nil
	c.Tensors = make([]plan.Tensor, len(p.Tensors))
	recipes := make([]any, len(p.Tensors))
	for i, t := range p.Tensors {
		var err error
		if recipes[i], err = withoutFiles(t.Recipe); err != nil {
			return "", err
		}
		t.Recipe = nil
		c.Tensors[i] = t
	}
	h := sha256.New()
	e := json.NewEncoder(h)
	if err := e.Encode(&c); err != nil {
		return "", err
	}
	if err := e.Encode(recipes); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// SameRecipe tells whether two recipes make the same of tensors of the same names, wherever these lie.
func SameRecipe(a, b *view.Recipe) bool {
	x, errA := withoutFiles(a)
	y, errB := withoutFiles(b)
	return errA == nil && errB == nil && reflect.DeepEqual(x, y)
}

// withoutFiles is a recipe's own JSON, less where the bytes lie.
func withoutFiles(r *view.Recipe) (any, error) {
	if r == nil {
		return nil, nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	strip(tree)
	return tree, nil
}

func strip(tree any) {
	switch v := tree.(type) {
	case map[string]any:
		delete(v, "file")
		delete(v, "offset")
		for _, inner := range v {
			strip(inner)
		}
	case []any:
		for _, inner := range v {
			strip(inner)
		}
	}
}
