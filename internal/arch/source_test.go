package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "github.com/graphrun/graphrun/"
)

// goFile is a parsed Go file that is no test.
type goFile struct {
	name    string // from the repository's root
	pkg     string // folder of it
	ast     *ast.File
	imports []string // of this module, without its path
}

var set = token.NewFileSet()

// sources gives every Go file of the repository but tests, whatever it is built for.
func sources(t *testing.T) ([]goFile, *token.FileSet) {
	t.Helper()
	files, err := parseAll()
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files, set
}

var parseAll = sync.OnceValues(func() (out []goFile, err error) {
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file := goFile{name: filepath.ToSlash(rel), pkg: filepath.ToSlash(filepath.Dir(rel)), ast: f}
		for _, i := range f.Imports {
			if own, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ok {
				file.imports = append(file.imports, own)
			}
		}
		out = append(out, file)
		return nil
	})
	return out, err
})
