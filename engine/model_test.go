//go:build cgo && mlx

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/header"
)

// openModel composes the shipped graph of a checkpoint, with exact classes, and opens it, and holds the test to freeing
// everything.
func openModel(t testing.TB, path string, o engine.Options) *engine.Engine {
	t.Helper()
	return openComposed(t, path, o, true)
}

func openComposed(t testing.TB, path string, o engine.Options, exact bool) *engine.Engine {
	t.Helper()
	before := mlx.LiveArrays()
	ck, err := header.Open(path)
	require.NoError(t, err)
	reg, err := ops.Default()
	require.NoError(t, err)
	r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Config: ck.Config, Checkpoint: ck, Registry: reg, Exact: exact})
	require.NoError(t, err)
	var said []string
	for _, d := range r.Diagnostics.Sorted() {
		said = append(said, d.Error())
	}
	require.NotNil(t, r.Plan, strings.Join(said, "\n"))
	files, err := weights.OpenFiles(ck)
	require.NoError(t, err)
	e, err := engine.Open(context.Background(), r.Plan, reg, files, o)
	require.NoError(t, errors.Join(err, files.Close()))
	t.Cleanup(func() {
		e.Close()
		require.Equal(t, before, mlx.LiveArrays(), "live arrays after closing")
	})
	return e
}

// oracleCase is a checkpoint of the oracle with what mlx-lm made of it.
type oracleCase struct {
	t    testing.TB
	dir  string
	name string
	want map[string]mlx.Array
	w    *mlx.Worker
}

type manifest struct {
	Cases map[string]struct {
		Sampled bool `json:"sampled"`
	} `json:"cases"`
}

func readManifest(t testing.TB) manifest {
	data, err := os.ReadFile("../.oracle/manifest.json")
	if err != nil {
		t.Skip("no oracle here: run `make oracle`")
	}
	var m manifest
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}

// oracleDir is a case's folder.
func oracleDir(t testing.TB, name string) string {
	dir := filepath.Join("..", ".oracle", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no oracle for %s here: run `make oracle`", name)
	}
	return dir
}

// openCase reads a case's expected arrays. They are freed with the test.
func openCase(t testing.TB, name string) *oracleCase {
	c := &oracleCase{t: t, dir: oracleDir(t, name), name: name, w: mlx.NewWorker()}
	before := mlx.LiveArrays()
	require.NoError(t, c.w.Do(func() error {
		s, err := mlx.DefaultStream(mlx.DeviceCPU)
		if err != nil {
			return err
		}
		defer s.Free()
		c.want, _, err = mlx.LoadSafetensors(filepath.Join(c.dir, "expected.safetensors"), s)
		return err
	}))
	t.Cleanup(func() {
		for _, a := range c.want {
			a.Free()
		}
		c.w.Close()
		require.Equal(t, before, mlx.LiveArrays())
	})
	return c
}

func (c *oracleCase) ids(key string) []int32 {
	c.t.Helper()
	var out []int32
	require.NoError(c.t, c.w.Do(func() (err error) { out, err = c.want[key].Int32s(); return err }), key)
	return out
}

// tensor gives an expected array as the engine gives its outputs.
func (c *oracleCase) tensor(key string) engine.Tensor {
	c.t.Helper()
	var out engine.Tensor
	require.NoError(c.t, c.w.Do(func() (err error) {
		a := c.want[key]
		out.Dtype, out.Shape = a.Dtype(), a.Shape()
		out.Data, err = a.Bytes()
		return err
	}), key)
	return out
}
