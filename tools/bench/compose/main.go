//go:build unix

// Command compose measures what composing costs as a person or a CI job pays it: whole processes of the build without MLX,
// from start to exit. It holds the figures to limits, so that CI notices when composing becomes slow.
//
//	go run ./tools/bench/compose [-runs N] [-graphrun PATH]
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// The limits, on any machine that runs this: they are not scaled. What is held to them is the processor time of the best
// run, of all cores together: other work on the machine makes runs longer, and never shorter.
const (
	maxLibrary = time.Second           // every shipped file for its examples
	maxHybrid  = 30 * time.Millisecond // 64 layers, a variant of 300 lines
	maxGrowth  = 1.5                   // time per layer from 256 to 1024 layers, of that from 64 to 256
)

//go:embed testdata/hybrid.json
var config []byte

//go:embed testdata/hybrid.yaml
var variant []byte

func main() {
	runs := flag.Int("runs", 21, "measured runs of the library; of the others three times as many")
	binary := flag.String("graphrun", "", "the program to measure; empty: built from this folder")
	flag.Parse()
	if err := bench(*runs, *binary); err != nil {
		fmt.Fprintln(os.Stderr, "bench-compose:", err)
		os.Exit(1)
	}
}

// testCase is one command line, run several times.
type testCase struct {
	name  string
	args  []string
	times []time.Duration // from start to exit
	cpu   []time.Duration // of both cores together: what a loaded machine changes less
	peak  int64           // bytes, the largest of all runs
}

func bench(runs int, binary string) error {
	dir, err := os.MkdirTemp("", "bench-compose")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if binary == "" {
		binary = filepath.Join(dir, "graphrun")
		build := exec.Command("go", "build", "-o", binary, "./cmd/graphrun")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building graphrun: %w", err)
		}
	}
	cases, err := prepare(dir)
	if err != nil {
		return err
	}
	for run := range runs + 1 { // the first is not counted: it reads the files from the disk
		for i := range 3 * len(cases) {
			c := cases[i%len(cases)]
			if c.name == "library" && i >= len(cases) {
				continue // long enough for its best run to be one that nothing disturbs
			}
			took, cpu, peak, err := once(binary, c.args)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if run > 0 {
				c.times, c.cpu, c.peak = append(c.times, took), append(c.cpu, cpu), max(c.peak, peak)
			}
		}
	}
	return report(cases)
}

// prepare writes the files and lists what is measured: an empty process, the library, the model at three depths.
func prepare(dir string) ([]*testCase, error) {
	file := filepath.Join(dir, "hybrid.yaml")
	if err := os.WriteFile(file, variant, 0o644); err != nil {
		return nil, err
	}
	cases := []*testCase{
		{name: "process", args: []string{"version"}},
		{name: "library", args: []string{"validate", "graphs"}},
	}
	depth := regexp.MustCompile(`("num_hidden_layers": )\d+`)
	for _, layers := range []int{64, 256, 1024} {
		name := filepath.Join(dir, fmt.Sprintf("hybrid-%d.json", layers))
		text := depth.ReplaceAll(config, []byte("${1}"+strconv.Itoa(layers)))
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return nil, err
		}
		cases = append(cases, &testCase{name: fmt.Sprintf("layers %d", layers), args: []string{"validate", "--strict", "--config", name, "--variant", file}})
	}
	return cases, nil
}

// once runs a command and gives its time from start to exit, its processor time and its largest resident size.
func once(binary string, args []string) (took, cpu time.Duration, peak int64, err error) {
	cmd := exec.Command(binary, args...)
	begun := time.Now()
	out, err := cmd.Output()
	took = time.Since(begun)
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return 0, 0, 0, fmt.Errorf("%w\n%s%s", err, out, failed.Stderr)
		}
		return 0, 0, 0, err
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = int64(usage.Maxrss)
		if runtime.GOOS != "darwin" { // kilobytes, as everywhere but there
			peak *= 1024
		}
	}
	return took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak, nil
}

func report(cases []*testCase) error {
	fmt.Printf("%-12s %10s %10s %10s %10s %10s\n", "", "cpu, best", "median", "time, best", "median", "peak")
	by := map[string]time.Duration{}
	for _, c := range cases {
		slices.Sort(c.times)
		slices.Sort(c.cpu)
		by[c.name] = c.cpu[0]
		fmt.Printf("%-12s %10s %10s %10s %10s %6d MiB\n", c.name, ms(c.cpu[0]), ms(c.cpu[len(c.cpu)/2]), ms(c.times[0]), ms(c.times[len(c.times)/2]), c.peak>>20)
	}
	first := (by["layers 256"] - by["layers 64"]) / (256 - 64)
	then := (by["layers 1024"] - by["layers 256"]) / (1024 - 256)
	fmt.Printf("a layer more takes %d µs up to 256 layers, %d µs up to 1024\n", first.Microseconds(), then.Microseconds())
	fmt.Printf("limits: library %s, layers 64 %s, growth %.1f\n", ms(maxLibrary), ms(maxHybrid), maxGrowth)
	growth := float64(then) / float64(max(first, 1))
	var over []error
	for _, r := range []struct {
		name            string
		limit, measured float64
	}{
		{"compose_library", maxLibrary.Seconds(), by["library"].Seconds()},
		{"compose_64_layers", maxHybrid.Seconds(), by["layers 64"].Seconds()},
		{"compose_growth", maxGrowth, growth},
	} {
		fmt.Printf("ratio %s %.2f\n", r.name, r.limit/r.measured) // above 1: within the limit
		if r.measured > r.limit {
			over = append(over, fmt.Errorf("%s is over its limit: %.4g of %.4g", r.name, r.measured, r.limit))
		}
	}
	return errors.Join(over...)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
