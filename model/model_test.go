package model

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
)

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		s    Settings
		want string
	}{
		"zero":                  {Settings{}, ""},
		"greedy with penalty":   {Settings{GenOptions: engine.GenOptions{RepetitionPenalty: 1.1, RepetitionContext: 64}}, ""},
		"drawn":                 {Settings{GenOptions: engine.GenOptions{Temperature: 1, TopP: 0.9, TopK: 40, MinP: 0.1, Seed: 3}}, ""},
		"top-p that is all":     {Settings{GenOptions: engine.GenOptions{TopP: 1}}, ""},
		"greedy with filters":   {Settings{GenOptions: engine.GenOptions{TopP: 0.9, TopK: 40}}, "top-p, top-k without a temperature has no effect"},
		"greedy with seed":      {Settings{GenOptions: engine.GenOptions{Seed: 1}}, "seed without a temperature has no effect"},
		"context of no penalty": {Settings{GenOptions: engine.GenOptions{RepetitionContext: 64}}, "a repetition context of 64 without a penalty"},
		"out of range":          {Settings{GenOptions: engine.GenOptions{Temperature: -1}}, "temperature -1 is not 0 or more"},
		"empty stop":            {Settings{Stop: []string{"a", ""}}, "an empty stop text"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.s.Check()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOpenHeadersErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	note := write("notes.txt", "x")
	alone := write("alone/model.safetensors", "\x02\x00\x00\x00\x00\x00\x00\x00{}")
	for name, c := range map[string]struct{ path, want string }{
		"none":           {"", "no checkpoint is named"},
		"absent":         {filepath.Join(dir, "note.txt"), "there is no such checkpoint; did you mean " + note},
		"absent, far":    {filepath.Join(dir, "x/y"), "there is no such checkpoint; the folder " + filepath.Join(dir, "x") + " cannot be read either"},
		"no checkpoint":  {note, "a checkpoint is a folder, a .safetensors file or a .gguf file"},
		"empty folder":   {dir, "no config.json in this folder, and no .safetensors or .gguf file: not a checkpoint"},
		"without config": {filepath.Dir(alone), "no config.json in this folder; give one of its files by itself"},
		"weights alone":  {alone, "no config.json beside it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenHeaders(c.path)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOpenWithoutMLX(t *testing.T) {
	if mlx.Available {
		t.Skip("this build has MLX")
	}
	_, err := Open(context.Background(), Options{Checkpoint: "nowhere"})
	require.ErrorIs(t, err, mlx.ErrNoMLX)
}

func TestFindings(t *testing.T) {
	cause := errors.New("cause")
	f := &Findings{List: []*diag.Diagnostic{
		{Code: "w", Severity: diag.Warning, Message: "odd"},
		{Code: "c", Message: "wrong", At: diag.Range{File: "f", Line: 1, Col: 2}},
	}, err: cause}
	require.EqualError(t, f, "f:1:2: error[c]: wrong (in all: 1 error, 1 warning)")
	require.ErrorIs(t, f, cause)
	require.EqualError(t, &Findings{List: f.List[1:]}, "f:1:2: error[c]: wrong")
}

// TestPlaced: what the engine says of a line of the graph is a finding there, with its code; other errors stay as they are.
func TestPlaced(t *testing.T) {
	m := &Model{found: &Findings{}}
	cause := errors.New("the weight is cut off")
	at := diag.Range{File: "tiny.yaml", Line: 3, Col: 7, EndLine: 3, EndCol: 9}
	for _, code := range []string{"cannot-open", "cannot-run"} {
		err := m.placed(code, fmt.Errorf("opening: %w", &engine.OpError{Path: "layers.0.mlp", At: at, Err: cause}))
		var found *Findings
		require.ErrorAs(t, err, &found)
		require.Equal(t, []*diag.Diagnostic{{Code: code, Message: cause.Error(), At: at, Path: "layers.0.mlp"}}, found.List)
		require.ErrorIs(t, err, cause)
		require.Equal(t, cause, m.placed(code, cause))
		_, explained := diag.Explain(code)
		require.True(t, explained)
	}
}
