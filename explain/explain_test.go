package explain_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/shape"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func report(t *testing.T, p *plan.Plan) *explain.Report {
	t.Helper()
	reg, err := ops.Default()
	require.NoError(t, err)
	r, err := explain.Make(p, reg, explain.Facts{
		Checkpoint: &explain.Checkpoint{Path: "tiny", Format: "safetensors", Fingerprint: "0123456789abcdef"}, Device: "cpu",
		Memory: explain.Memory{Items: []explain.Item{{Name: "weights, dense bfloat16", Bytes: 3 << 20}}, Total: 3 << 20, Context: 128, Batch: 1},
	})
	require.NoError(t, err)
	return r
}

// variantPlan has two layers of an mlp that takes its gate and up together from two rows on, and whose second layer decides
// otherwise about its down projection.
func variantPlan() *plan.Plan {
	line := func(n int) diag.Range {
		return diag.Range{File: "variant.yaml", Line: n, Col: 3, EndLine: n, EndCol: 9}
	}
	at := func(n int) diag.Range { return diag.Range{File: "model.yaml", Line: n, Col: 5, EndLine: n, EndCol: 9} }
	p := &plan.Plan{Model: "tiny", Layers: 2, Variants: []string{"fast"}, Unasked: []string{"bos_token_id", "eos_token_id"}}
	facts := plan.Facts{Storage: "affine", Dtype: dtype.Bfloat16, Bits: 4, Group: 64, Mode: "affine", Inputs: 64, Outputs: 128, Bytes: 4608}
	for i, layer := range []string{"layers.0.mlp", "layers.1.mlp"} {
		base := len(p.Weights)
		for _, role := range []string{"gate_proj", "up_proj", "down_proj"} {
			p.Weights = append(p.Weights, plan.Weight{Path: layer + "." + role, Facts: facts, Tensor: -1, Scales: -1, Biases: -1, Bias: -1})
		}
		n := len(p.Instances)
		one := func(class string, args plan.Args, role, kind string, weight int) plan.Instance {
			return plan.Instance{Class: class, Args: args, Kind: kind, Path: layer + "." + role, Weights: []plan.RoleWeight{{Role: "weight", Weight: weight}}}
		}
		p.Instances = append(p.Instances,
			one("affine", nil, "gate_proj", "linear", base),
			one("affine", nil, "up_proj", "linear", base+1),
			one("affine", nil, "down_proj", "linear", base+2),
			one("affine.rows", plan.Args{{Name: "tile", Value: plan.Value{Kind: plan.Int, Int: 4}}}, "down_proj", "linear", base+2),
			plan.Instance{Class: "trellis.gate_up", Kind: "gate_up", Path: layer + ".gate_up", Weights: []plan.RoleWeight{{Role: "gate_proj", Weight: base}, {Role: "up_proj", Weight: base + 1}}},
			plan.Instance{Class: "mlp.unfused", Kind: "mlp", Path: layer, Parts: []plan.RolePart{{Role: "gate_proj", Instance: n}, {Role: "up_proj", Instance: n + 1}, {Role: "down_proj", Instance: n + 2}}},
			plan.Instance{Class: "mlp.gate_down", Kind: "mlp", Path: layer, Parts: []plan.RolePart{{Role: "gate_up", Instance: n + 4}, {Role: "down_proj", Instance: n + 2}}},
		)
		exact := func(first, last, instance int) plan.RowClass {
			return plan.RowClass{First: first, Last: last, Instance: instance, Exact: true, Adapted: -1}
		}
		down := []plan.RowClass{exact(1, 0, n+2)}
		if i == 1 {
			down = []plan.RowClass{exact(1, 1, n+2), {First: 2, Last: 8, Instance: n + 3, Adapted: n + 2, At: line(9)}, exact(9, 0, n+2)}
		}
		port := func(role, kind string, rows []plan.RowClass, weights []int, roles ...string) plan.Port {
			return plan.Port{Entry: "text", Path: layer + role, Kind: kind, Dims: []int{64, 128}, Weights: weights, Roles: roles, Rows: rows, Place: at(4)}
		}
		p.Ports = append(p.Ports,
			port(".gate_proj", "linear", []plan.RowClass{exact(1, 0, n)}, []int{base}, "weight"),
			port(".up_proj", "linear", []plan.RowClass{exact(1, 0, n+1)}, []int{base + 1}, "weight"),
			port(".down_proj", "linear", down, []int{base + 2}, "weight"),
			port(".gate_up", "gate_up", []plan.RowClass{{First: 1, Instance: n + 4, Adapted: -1, At: line(7)}}, []int{base, base + 1}, "gate_proj", "up_proj"),
			port("", "mlp", []plan.RowClass{exact(1, 1, n+5), {First: 2, Last: 0, Instance: n + 6, Adapted: -1, At: line(8)}},
				[]int{base, base + 1, base + 2}, "gate_proj", "up_proj", "down_proj"),
		)
		p.States = append(p.States, plan.State{Path: layer + ".kv", Kind: "cache", Dtype: dtype.Bfloat16, Rollback: "replay",
			Args: plan.Args{{Name: "heads", Value: plan.Value{Kind: plan.Int, Int: 2}}, {Name: "dim", Value: plan.Value{Kind: plan.Int, Int: 16}}}})
		p.Dropped = append(p.Dropped, plan.Dropped{Path: layer, What: "q", Why: "when: norm is false", At: at(6)})
	}
	hidden := shape.Shape{shape.Sym("B"), shape.Sym("T"), shape.Int(64)}
	typ := plan.Type{Dtype: dtype.Bfloat16, Shape: hidden}
	for i, first := range []int{1, 2, 9} {
		g := plan.Program{Entry: "text", First: first, Slots: 3, Inputs: []plan.Named{{Name: "x", Slot: 0, Dtype: dtype.Bfloat16, Shape: hidden}},
			Results: []plan.Named{{Name: "h", Slot: 2, Dtype: dtype.Bfloat16, Shape: hidden}}}
		if first == 1 {
			g.Guards = []plan.Guard{{Symbol: "T", Operator: "==", Number: 1}}
		}
		g.Last = []int{1, 8, 0}[i]
		for layer := range 2 {
			port := &p.Ports[5*layer+4]
			g.Calls = append(g.Calls, plan.Call{Port: 5*layer + 4, Instance: port.At(first).Instance, In: []plan.Operand{{Kind: plan.FromSlot, Index: layer}},
				Out: []int{layer + 1}, State: -1, Types: []plan.Type{typ}, Path: port.Path, At: at(5)})
		}
		p.Programs = append(p.Programs, g)
	}
	p.Submit = []plan.Submit{{First: 1, Last: 8, Args: plan.Args{{Name: "schedule_every", Value: plan.Value{Kind: plan.Int, Int: 4}}}}}
	p.Verify = []plan.Cost{{Rows: 1, Cost: 1}, {Rows: 2, Cost: 1.3}}
	return p
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report(t, variantPlan()).WriteText(&b))
	golden(t, "variant.txt", b.Bytes())
}

func TestCalls(t *testing.T) {
	list, err := explain.Calls(variantPlan(), 2)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, list.WriteText(&b))
	golden(t, "calls.txt", b.Bytes())
	for _, bad := range []int{0, -1, 4} {
		_, err = explain.Calls(variantPlan(), bad)
		require.ErrorContains(t, err, "the plan has 3")
	}
}

// TestJSON: every port is there, and no range is missing.
func TestJSON(t *testing.T) {
	p := variantPlan()
	var b bytes.Buffer
	require.NoError(t, report(t, p).WriteJSON(&b))
	var r explain.Report
	var raw map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &raw))
	r = *report(t, p)
	require.Len(t, raw["entries"].([]any)[0].(map[string]any)["ports"], len(p.Ports))
	for _, port := range r.Entries[0].Ports {
		require.Len(t, port.Rows, 3, port.Path)
	}
}

// TestHash: what is decided is in the hash, where files lie is not.
func TestHash(t *testing.T) {
	hash := func(change func(*plan.Plan)) string {
		p := variantPlan()
		p.Tensors = []plan.Tensor{{Name: "a", Shape: []int{2}, Recipe: view.FromTensor(&header.Tensor{Name: "a", File: "one/x.safetensors", Shape: []int{2}})}}
		change(p)
		h, err := explain.Hash(p)
		require.NoError(t, err)
		return h
	}
	base := hash(func(*plan.Plan) {})
	require.Len(t, base, 64)
	same := map[string]func(*plan.Plan){
		"file":     func(p *plan.Plan) { p.Tensors[0].Recipe.Tensor.File = "two/y.safetensors" },
		"offset":   func(p *plan.Plan) { p.Tensors[0].Recipe.Tensor.Offset = 9 },
		"place":    func(p *plan.Plan) { p.Programs[0].Calls[0].At.Line = 77; p.Ports[4].Rows[1].At.File = "other.yaml" },
		"variants": func(p *plan.Plan) { p.Variants = nil },
		"unasked":  func(p *plan.Plan) { p.Unasked = nil },
	}
	for name, change := range same {
		require.Equal(t, base, hash(change), name)
	}
	other := map[string]func(*plan.Plan){
		"tensor": func(p *plan.Plan) { p.Tensors[0].Recipe.Tensor.Name = "b" },
		"class":  func(p *plan.Plan) { p.Instances[3].Class = "affine.mma" },
		"args":   func(p *plan.Plan) { p.Instances[3].Args[0].Value.Int = 8 },
		"rows":   func(p *plan.Plan) { p.Programs[1].Last = 7 },
		"submit": func(p *plan.Plan) { p.Submit = nil },
		"native": func(p *plan.Plan) { p.Native = []string{"rope"} },
		"state":  func(p *plan.Plan) { p.States[0].Rollback = "" },
	}
	for name, change := range other {
		require.NotEqual(t, base, hash(change), name)
	}
}

// TestBrokenPlan: indices that lead nowhere are no panic.
func TestBrokenPlan(t *testing.T) {
	p := variantPlan()
	p.Programs[0].Calls[0].Instance = 999
	p.Programs[0].Calls[0].Port = 999
	p.Ports[0].Rows[0].Instance = -7
	p.Ports[1].Weights = []int{-1}
	p.Ports[2].Rows = nil
	var b bytes.Buffer
	require.NoError(t, report(t, p).WriteText(&b))
	_, err := explain.Calls(p, 1)
	require.NoError(t, err)
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 2 << 20: "2 MiB", 150 << 30: "150 GiB"} {
		require.Equal(t, want, explain.Bytes(n))
	}
}
