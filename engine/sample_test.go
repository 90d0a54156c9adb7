//go:build cgo && mlx

package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
)

// samplingCases is .oracle/sampling/cases.json.
type samplingCases struct {
	Samplers, Processors map[string]map[string]any
	History              []int32
	Seeds                []uint64
	Draws                int
	Rows                 map[string]int
	Dtypes               []string
}

func readSampling(t *testing.T) (string, samplingCases) {
	dir := filepath.Join("..", ".oracle", "sampling")
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Skip("no oracle here: run `make oracle`")
	}
	var c samplingCases
	require.NoError(t, json.Unmarshal(data, &c))
	return dir, c
}

func genOptionsOf(t *testing.T, named map[string]any) GenOptions {
	var o GenOptions
	for k, v := range named {
		if bias, ok := v.(map[string]any); ok {
			o.LogitBias = map[int32]float64{}
			for id, b := range bias {
				n, err := strconv.Atoi(id)
				require.NoError(t, err)
				o.LogitBias[int32(n)] = b.(float64)
			}
			continue
		}
		f := v.(float64)
		switch k {
		case "temp":
			o.Temperature = f
		case "top_p":
			o.TopP = f
		case "min_p":
			o.MinP = f
		case "min_tokens_to_keep":
			o.MinKeep = int(f)
		case "top_k":
			o.TopK = int(f)
		case "repetition_penalty":
			o.RepetitionPenalty = f
		case "repetition_context_size":
			o.RepetitionContext = int(f)
		case "presence_penalty":
			o.PresencePenalty = f
		case "frequency_penalty":
			o.FrequencyPenalty = f
		default:
			t.Fatalf("the oracle has an option %s that this test does not know", k)
		}
	}
	o, err := o.filled()
	require.NoError(t, err)
	return o
}

// The samplers and penalties have mlx-lm's bits and, for a seed, its tokens.
func TestSamplingOracle(t *testing.T) {
	dir, cases := readSampling(t)
	before := mlx.LiveArrays()
	w := mlx.NewWorker()
	defer w.Close()
	for _, d := range cases.Dtypes {
		o := &samplingOracle{cases: cases}
		require.NoError(t, w.Do(func() error { return o.open(filepath.Join(dir, d+".safetensors")) }))
		for row := range cases.Rows {
			for name, named := range cases.Samplers {
				if options := genOptionsOf(t, named); options.TopK < cases.Rows[row] { // mlx-lm refuses the others
					t.Run(fmt.Sprintf("%s/%s/%s", d, name, row), func(t *testing.T) {
						require.NoError(t, w.Do(func() error { return o.sampler(name, row, options) }))
					})
				}
			}
			for name, named := range cases.Processors {
				if options := genOptionsOf(t, named); o.saved[name+"."+row+".logits"].Valid() {
					t.Run(fmt.Sprintf("%s/%s/%s", d, name, row), func(t *testing.T) {
						require.NoError(t, w.Do(func() error { return o.processor(name, row, options) }))
					})
				}
			}
		}
		require.NoError(t, w.Do(o.close))
	}
	require.Equal(t, before, mlx.LiveArrays())
}

// samplingOracle is one dtype's file, used on a worker.
type samplingOracle struct {
	stream mlx.Stream
	saved  map[string]mlx.Array
	sc     *mlx.Scope
	cases  samplingCases
}

func (o *samplingOracle) open(path string) (err error) {
	if o.stream, err = mlx.DefaultStream(mlx.DeviceCPU); err != nil {
		return err
	}
	o.sc = mlx.NewScope(o.stream)
	o.saved, _, err = mlx.LoadSafetensors(path, o.stream)
	return err
}

func (o *samplingOracle) close() error {
	o.sc.Free()
	for _, a := range o.saved {
		a.Free()
	}
	o.stream.Free()
	return nil
}

func (o *samplingOracle) sampler(name, row string, options GenOptions) error {
	defer o.sc.Free()
	logits, x := o.saved["rows."+row+".logits"], o.saved["rows."+row+".logprobs"]
	if err := o.equal(x, o.sc.Subtract(logits, o.sc.Logsumexp(logits, true))); err != nil {
		return fmt.Errorf("logprobs: %w", err)
	}
	want, err := o.saved[name+"."+row+".tokens"].Int32s()
	if err != nil {
		return err
	}
	seeds, draws := o.cases.Seeds, o.cases.Draws
	if options.Temperature == 0 {
		seeds, draws = seeds[:1], 1
	}
	var got []int32
	for _, seed := range seeds {
		options.Seed = seed
		p, err := newSampler(options, x.Dtype(), x.Dim(1))
		if err != nil {
			return err
		}
		defer p.free()
		if filtered := o.saved[name+"."+row+".filtered"]; filtered.Valid() {
			if err := o.equal(filtered, p.filter(o.sc, x)); err != nil {
				return fmt.Errorf("filtered: %w", err)
			}
		}
		for range draws {
			id, err := p.sample(o.sc, x).ItemInt()
			if err = errors.Join(o.sc.ResetErr(), err); err != nil {
				return err
			}
			got = append(got, int32(id))
		}
	}
	if !slices.Equal(want, got) {
		return fmt.Errorf("tokens %v, mlx-lm has %v", got, want)
	}
	return nil
}

func (o *samplingOracle) processor(name, row string, options GenOptions) error {
	defer o.sc.Free()
	x, history := o.saved["rows."+row+".logits"], o.cases.History
	// The history in one piece, and token by token as decoding gives it.
	for _, whole := range []int{len(history), len(history) - 7, 1} {
		p, err := newSampler(options, x.Dtype(), x.Dim(1))
		if err != nil {
			return err
		}
		defer p.free()
		for n, end := 0, whole; end <= len(history); n, end = end, end+1 {
			a, err := mlx.FromInt32s(history[n:end], 1, end-n)
			if err != nil {
				return err
			}
			p.see(o.sc, o.sc.Own(a))
		}
		if err := o.equal(o.saved[name+"."+row+".logits"], p.process(o.sc, x)); err != nil {
			return err
		}
	}
	return nil
}

func (o *samplingOracle) equal(want, got mlx.Array) error {
	if err := o.sc.ResetErr(); err != nil {
		return err
	}
	if want.Dtype() != got.Dtype() || !slices.Equal(want.Shape(), got.Shape()) {
		return fmt.Errorf("%s %v, mlx-lm has %s %v", got.Dtype(), got.Shape(), want.Dtype(), want.Shape())
	}
	a, err := want.Bytes()
	if err != nil {
		return err
	}
	b, err := got.Bytes()
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return errors.New("the bits differ from mlx-lm's")
	}
	return nil
}
