package main

import (
	"flag"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// headers are the ones whose operations are written, each into files of its own.
var headers = []string{"ops", "fast", "random"}

// skip names what is written by hand or is no operation, and why.
var skip = map[string]string{
	"mlx_random_seed": "gives no array: RandomSeed in random.go",
}

// skipPrefixes are families with types of their own, written by hand.
var skipPrefixes = []string{"mlx_fast_cuda_kernel", "mlx_fast_metal_kernel"}

// group is one header's operations.
type group struct {
	Name      string
	Functions []function
}

func main() {
	include := flag.String("include", "", "folder that holds mlx/c/ops.h (asked of pkg-config when not given)")
	out := flag.String("out", ".", "folder of package mlx")
	flag.Parse()
	if err := run(*include, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(include, out string) error {
	if include == "" {
		var err error
		if include, err = findInclude(out); err != nil {
			return err
		}
	}
	files, err := generate(include)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate gives every file's name and contents.
func generate(include string) (map[string][]byte, error) {
	var groups []group
	for _, name := range headers {
		path := filepath.Join(include, "mlx", "c", name+".h")
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		skipped := map[string]string{}
		for k, v := range skip {
			skipped[k] = v
		}
		for _, m := range reFunction.FindAllStringSubmatch(string(text), -1) {
			for _, p := range skipPrefixes {
				if strings.HasPrefix(m[1], p) {
					skipped[m[1]] = "by prefix"
				}
			}
		}
		fs, err := parse(string(text), skipped)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		groups = append(groups, group{Name: name, Functions: fs})
	}
	out := map[string][]byte{"shim_gen.h": []byte(emitHeader(groups))}
	addGo := func(name, text string) error {
		b, err := format.Source([]byte(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		out[name] = b
		return nil
	}
	for _, g := range groups {
		out["shim_"+g.Name+"_gen.c"] = []byte(emitC(g))
		if err := addGo(g.Name+"_gen.go", emitNative(g)); err != nil {
			return nil, err
		}
	}
	if err := addGo("stub_gen.go", emitStub(groups)); err != nil {
		return nil, err
	}
	return out, nil
}

// findInclude asks pkg-config, which knows .deps when the Makefile set its path; else it looks there itself.
func findInclude(out string) (string, error) {
	candidates := []string{filepath.Join(out, "..", ".deps", "mlx-c", "include")}
	if b, err := exec.Command("pkg-config", "--cflags-only-I", "graphrun-mlx").Output(); err == nil {
		for _, f := range strings.Fields(string(b)) {
			candidates = append([]string{strings.TrimPrefix(f, "-I")}, candidates...)
		}
	}
	for _, c := range candidates {
		if _, err := os.Stat(filepath.Join(c, "mlx", "c", "ops.h")); err == nil {
			return c, nil
		}
	}
	return "", fmt.Errorf("mlx-c's headers are not found; run make setup, or give -include")
}
