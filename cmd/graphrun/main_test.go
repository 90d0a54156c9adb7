package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
// `exits N command…` is exec of a command that has to end with exit code N.
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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
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
