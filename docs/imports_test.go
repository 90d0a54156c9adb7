package docs

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/graphrun/graphrun/"

// layers are the packages in the order in which they may import: each only those above it. Packages of one line do not
// import each other.
var layers = [][]string{
	{"diag", "dtype", "pattern", "shape", "port", "graphs", "internal/process"},
	{"mlx", "weights/header", "text"},
	{"weights/view"},
	{"plan", "weights"},
	{"registry"},
	{"ops", "compose"},
	{"engine"},
	{"model"},
	{"cmd/graphrun"},
}

// forbidden are imports that the order would allow and the design does not.
var forbidden = map[string][]string{
	"compose": {"mlx", "weights", "engine", "ops"},
	"engine":  {"compose"},
	"ops":     {"weights"},
	"plan":    {"mlx", "weights"},
	"text":    {"mlx", "weights"},
}

// TestImports holds the direction of imports that architecture.md tells, subpackages counted with their package.
func TestImports(t *testing.T) {
	rank := map[string]int{}
	for i, l := range layers {
		for _, p := range l {
			rank[p] = i
		}
	}
	with := build.Default
	with.CgoEnabled, with.BuildTags = true, []string{"mlx"}
	seen := map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != ".." && (strings.HasPrefix(name, ".") || name == "testdata") {
			return fs.SkipDir
		}
		pkg, err := with.ImportDir(dir, 0)
		if err != nil {
			return nil // no Go files for this build
		}
		from := owner(filepath.ToSlash(strings.TrimPrefix(dir, ".."+string(filepath.Separator))), rank)
		if from == "" {
			return nil
		}
		seen[from] = true
		for _, imp := range pkg.Imports {
			to, ours := strings.CutPrefix(imp, module)
			if to = owner(to, rank); !ours || to == from || to == "" {
				continue
			}
			require.Less(t, rank[to], rank[from], "%s imports %s, which does not lie above it", dir, imp)
			require.NotContains(t, forbidden[from], to, "%s imports %s", dir, imp)
		}
		return nil
	}))
	for p := range rank {
		require.True(t, seen[p], "no package %s: take it out of the order", p)
	}
}

// owner is the package of the order that a folder belongs to.
func owner(dir string, rank map[string]int) string {
	for ; dir != "." && dir != ""; dir = strings.TrimSuffix(dir[:max(0, strings.LastIndexByte(dir, '/'))], "/") {
		if _, ok := rank[dir]; ok {
			return dir
		}
	}
	return ""
}
