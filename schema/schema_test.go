package schema_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose/format"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/schema"
	"github.com/graphrun/graphrun/schema/reference"
)

func TestShippedFilesValidate(t *testing.T) {
	v := whole(t)
	n := 0
	require.NoError(t, fs.WalkDir(graphs.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".yaml" {
			return err
		}
		n++
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(graphs.Files, name)
			require.NoError(t, err)
			doc, err := plain(data)
			require.NoError(t, err)
			require.NoError(t, v.Validate(doc))
		})
		return nil
	}))
	require.NotZero(t, n)
}

// TestFixtures holds files in testdata/valid, of every form that the language has, against the schema.
func TestFixtures(t *testing.T) {
	v := whole(t)
	files, err := filepath.Glob("testdata/valid/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			doc, err := plain(data)
			require.NoError(t, err)
			require.NoError(t, v.Validate(doc))
		})
	}
}

// TestFaultyFilesOfTheComposer holds the schema to the composer's own faulty cases: what a schema can see, it sees.
func TestFaultyFilesOfTheComposer(t *testing.T) {
	// Codes that a schema always catches, but for the cases in beyond.
	caught := map[string]bool{
		"unknown-key": true, "unknown-kind": true, "missing-key": true, "port-kind": true, "port-dims": true, "bad-word": true, "no-version": true,
		"wrong-version": true, "unknown-type": true, "bad-name": true, "reserved-name": true, "unknown-dtype": true, "unknown-activation": true,
		"unknown-view-step": true, "unknown-parameter": true, "missing-parameter": true, "too-many-inputs": true, "bad-repeat": true, "bad-node": true,
		"want-mapping": true, "want-list": true, "want-bool": true, "no-name": true, "bad-parameter": true, "unknown-input": true, "bind-both": true, "bad-rows": true,
	}
	beyond := map[string]string{
		"block-unknown-parameter": "the block is the user's own",
		"activation-none":         "whether a condition holds is told when composing",
		"block-missing-parameter": "the block is the user's own",
		"port-negative-dim":       "the length is an expression's",
		"repeat-reversed":         "the bounds are right apart from their values",
		"variant-reversed":        "so are these",
		"reserved-key-first":      "JSON has no order of keys",
		"author-one-result":       "the number of results is in a key",
		"author-variant-no-list":  "one word would be right, and this is one to JSON",
	}
	v := whole(t)
	cases, err := filepath.Glob("../compose/testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	place := regexp.MustCompile(`(?m)^([\w./-]+):\d+:\d+: error\[([\w-]+)\]`)
	seen := 0
	for _, name := range cases {
		short := strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(short, func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			require.NoError(t, err)
			files := map[string][]byte{}
			for _, f := range a.Files {
				files[f.Name] = f.Data
			}
			found := place.FindAllSubmatch(files["want"], -1)
			if len(found) == 0 {
				for n, data := range files {
					if strings.HasSuffix(n, ".yaml") {
						doc, err := plain(data)
						require.NoError(t, err, n)
						require.NoError(t, v.Validate(doc), "%s has no error for the composer", n)
					}
				}
				return
			}
			for _, m := range found {
				if !caught[string(m[2])] || beyond[short] != "" {
					continue
				}
				seen++
				doc, err := plain(files[string(m[1])])
				require.NoError(t, err)
				require.Error(t, v.Validate(doc), "the composer says %s", m[2])
			}
		})
	}
	require.Greater(t, seen, 20)
}

// TestRefuses holds what a schema alone must catch, a small file each.
func TestRefuses(t *testing.T) {
	v := whole(t)
	const (
		block   = "graphrun: v1\nkind: block\nname: b\nin: {x: [B]}\nout: {y: [B]}\nnodes:\n- y: "
		model   = "graphrun: v1\nkind: model\nname: m\nrecognises: 'true'\nnodes: []\n"
		variant = "graphrun: v1\nkind: variant\nname: v\nof: llama\n"
		rules   = "graphrun: v1\nkind: rules\nname: r\nrules:\n- {name: a, assert: 'true', "
	)
	valid := map[string]string{
		"block":   block + "{exp: x}",
		"model":   model,
		"variant": variant,
		"rules":   rules + "severity: note}",
	}
	for name, text := range valid {
		t.Run("valid "+name, func(t *testing.T) {
			doc, err := plain([]byte(text))
			require.NoError(t, err)
			require.NoError(t, v.Validate(doc))
		})
	}
	for name, text := range map[string]string{
		"not a mapping":                "[1]",
		"no kind":                      "graphrun: v1\nname: x\n",
		"key of another kind":          model + "bind: []\n",
		"operator: unknown key":        block + "{rms_norm: x, eps: 1e-5, gain: w}",
		"operator: parameter's type":   block + "{rms_norm: x, eps: [1]}",
		"operator: no parameter":       block + "{rms_norm: x}",
		"operator: required state":     block + "{update_cache: x}",
		"operator: state it has not":   block + "{exp: x, state: kv}",
		"operator: input of a map":     block + "{rope: {x, offsets: kv}, dims: 4, base: 1.0}",
		"operator: word of a list":     block + "{sum: x, axis: 0, order: sequentially}",
		"operator: dtype":              block + "{astype: x, dtype: float17}",
		"block: unknown key":           block + "{attention: x, heads: 1, kv_heads: 1, head_dim: 1, eps: 1.0, rope_base: 1.0, rope: 1}",
		"block: no parameter":          block + "{attention: x, heads: 1}",
		"anonymous: unknown key":       block + "{nodes: [], heads: 1}",
		"reserved key's type":          block + "{my_block: x, at: [1]}",
		"repeat of two indices":        block + "{my_block: x, repeat: {i: 1, j: 2}}",
		"repeat of three bounds":       block + "{my_block: x, repeat: {i: [1, 2, 3]}}",
		"node: number":                 block + "7",
		"view: two verbs":              model + "view: [{drop: a, rename: b, to: c}]\n",
		"view: rename without to":      model + "view: [{rename: a}]\n",
		"view: unknown change":         model + "view: [{each: a, do: [{divide: 2}]}]\n",
		"view: two changes in one":     model + "view: [{each: a, do: [{add: 2, multiply: 2}]}]\n",
		"port: two kinds":              model + "ports: {a: {linear: [1, 2], head: [1, 2]}}\n",
		"port: key of another kind":    model + "ports: {a: {linear: [1, 2], count: 2}}\n",
		"port: activation's parameter": model + "ports: {a: {mlp: [1, 2], activation: {swiglu_oai: {alfa: 1}}}}\n",
		"port: part":                   model + "ports: {a: {mlp: [1, 2], activation: swiglu, parts: {gat: w1}}}\n",
		"state: two kinds":             model + "state: {a: {cache: {heads: 1, dim: 1}, array: [1]}}\n",
		"state: field missing":         model + "state: {a: {cache: {heads: 1}}}\n",
		"variant: no model":            "graphrun: v1\nkind: variant\nname: v\n",
		"variant: class and rows":      variant + "bind: [{ports: a, class: dense, rows: {1: dense}}]\n",
		"variant: neither":             variant + "bind: [{ports: a}]\n",
		"variant: row range":           variant + "bind: [{ports: a, rows: {1-4: dense}}]\n",
		"variant: kind of port":        variant + "bind: [{ports: a, kind: linaer, class: dense}]\n",
		"variant: class's parameter":   variant + "bind: [{ports: a, class: {affine: {tile: 4}}}]\n",
		"variant: rollback":            variant + "states: [{states: a, rollback: undo}]\n",
		"variant: policy":              variant + "submit: {rows: {1: {schedule: 4}}}\n",
		"rules: severity":              rules + "severity: fatal}",
		"rules: name of the member":    rules + "as: 'a b'}",
		"rules: unknown key":           rules + "asert: 'true'}",
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := plain([]byte(text))
			require.NoError(t, err)
			require.Error(t, v.Validate(doc))
		})
	}
}

func TestOnlyOneKind(t *testing.T) {
	s := build(t)
	for _, kind := range schema.Kinds {
		one, err := s.Only(kind)
		require.NoError(t, err)
		v := compile(t, one) // every reference is there
		for _, other := range schema.Kinds {
			data, err := os.ReadFile("testdata/valid/" + other + ".yaml")
			require.NoError(t, err)
			doc, err := plain(data)
			require.NoError(t, err)
			if other == kind {
				require.NoError(t, v.Validate(doc), kind)
			} else {
				require.Error(t, v.Validate(doc), "%s of %s", kind, other)
			}
		}
	}
	rules, err := s.Only("rules")
	require.NoError(t, err)
	require.Nil(t, rules.Defs.Get("operator.rope"))
	_, err = s.Only("modle")
	require.ErrorContains(t, err, "did you mean model?")
}

// TestExamplesValidate holds the examples that are shown to the schema.
func TestExamplesValidate(t *testing.T) {
	r, err := ops.Default()
	require.NoError(t, err)
	lib, err := reference.New(r, graphs.Files)
	require.NoError(t, err)
	v := whole(t)
	for kind, head := range map[reference.Kind]string{
		reference.Operator: "kind: block\nin: {x: [B]}\nout: {y: [B]}\nnodes:\n",
		reference.Block:    "kind: block\nin: {x: [B]}\nout: {y: [B]}\nnodes:\n",
		reference.Port:     "kind: block\nin: {x: [B]}\nout: {y: [B]}\n",
		reference.Class:    "kind: variant\nof: '*'\nbind:\n",
		reference.State:    "kind: block\nin: {x: [B]}\nout: {y: [B]}\nnodes: []\nstate:\n",
	} {
		for _, e := range lib.Of(kind) {
			if e.Example == nil {
				require.NotEmpty(t, port.Kinds[e.Name].Derived)
				continue
			}
			lines, head := strings.Join(e.Example, "\n"), head
			if kind == reference.State {
				lines = "  " + lines
			}
			if e.Fact("kinds") == registry.StateRead {
				head = strings.Replace(head, "bind:", "states:", 1)
			}
			doc, err := plain([]byte("graphrun: v1\nname: x\n" + head + lines + "\n"))
			require.NoError(t, err, e.Example)
			require.NoError(t, v.Validate(doc), e.Example)
		}
	}
}

// TestOrderOfKeys holds the order in which a schema lists keys, and editors offer them, to that in which files have them.
func TestOrderOfKeys(t *testing.T) {
	s := build(t)
	for _, kind := range schema.Kinds {
		require.Equal(t, format.Keys(kind), s.Defs.Get(kind).Properties.Names(), kind)
	}
	require.Equal(t, format.EntryKeys(), s.Defs.Get("entry").Properties.Names())
	for _, d := range s.Defs {
		names := d.Schema.Properties.Names()
		slices.Sort(names)
		require.Equal(t, slices.Compact(slices.Clone(names)), names, "%s has a key twice", d.Name)
	}
}
