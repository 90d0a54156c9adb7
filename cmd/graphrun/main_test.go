package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphrun/graphrun/mlx"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"graphrun": main})
}

const checkpoint = "../../.deps/checkpoints/SmolLM2-135M-Instruct.Q4_1.gguf"

// model gives the path of the default checkpoint; ok is false, with a reason, where it cannot be run.
func realModel() (path, why string) {
	path, err := filepath.Abs(checkpoint)
	if err != nil {
		return "", err.Error()
	}
	if !mlx.Available {
		return path, "this build has no MLX"
	}
	if _, err := os.Stat(path); err != nil {
		return path, "the default checkpoint is not there (tools/checkpoint.sh fetches it)"
	}
	return path, ""
}

// TestScripts runs testdata/script/*.txtar: the command as a user sees it. [mlx] tells whether this build has MLX,
// [model] whether the default checkpoint, $MODEL, can be run; $SHIPPED is the folder of the shipped graph files.
// `exits N command…` is exec of a command that has to end with exit code N; `checkpoint FOLDER LIST` writes a checkpoint of
// the folder's config.json and of random tensors, whose dtypes and shapes the JSON file LIST has.
func TestScripts(t *testing.T) {
	shipped, err := filepath.Abs("../../graphs")
	if err != nil {
		t.Fatal(err)
	}
	path, why := realModel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			switch name {
			case "mlx":
				return mlx.Available, nil
			case "model":
				return why == "", nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "checkpoint": makeCheckpoint},
		Setup: func(e *testscript.Env) error {
			e.Setenv("SHIPPED", shipped)
			e.Setenv("MODEL", path)
			return nil
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N command…")
	}
	code := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// makeCheckpoint writes model.safetensors. A tensor's values follow from its name.
func makeCheckpoint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: checkpoint FOLDER LIST")
	}
	type tensor struct {
		Dtype   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	var list map[string]*tensor
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &list))
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(list)) {
		t := list[name]
		h := fnv.New64()
		fmt.Fprint(h, name)
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		n, at := 1, len(data)
		for _, d := range t.Shape {
			n *= d
		}
		for range n {
			f := math.Float32bits(float32(r.NormFloat64()) / 4)
			switch t.Dtype {
			case "BF16":
				data = binary.LittleEndian.AppendUint16(data, uint16(f>>16))
			case "F32":
				data = binary.LittleEndian.AppendUint32(data, f)
			default:
				ts.Fatalf("no tensor of %s", t.Dtype)
			}
		}
		t.Offsets = [2]int{at, len(data)}
	}
	head, err := json.Marshal(list)
	ts.Check(err)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	ts.Check(os.WriteFile(ts.MkAbs(filepath.Join(args[0], "model.safetensors")), append(append(file, head...), data...), 0o644))
}
