package mlx

import (
	"bytes"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFaces: what a build with MLX exports, a build without exports too, with the same signatures.
func TestFaces(t *testing.T) {
	native, stub := face(t, true), face(t, false)
	require.Greater(t, len(native), 300, "the operations are there")
	require.Equal(t, strings.Join(native, "\n"), strings.Join(stub, "\n"))
}

// face lists the exported declarations of the files that a build with or without MLX takes, and their signatures.
func face(t *testing.T, mlx bool) []string {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var out []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if !taken(t, text, mlx) {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, text, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			out = append(out, exported(fset, d)...)
		}
	}
	sort.Strings(out)
	return out
}

func taken(t *testing.T, text []byte, mlx bool) bool {
	for _, line := range strings.Split(string(text), "\n") {
		if !constraint.IsGoBuild(line) {
			continue
		}
		x, err := constraint.Parse(line)
		require.NoError(t, err)
		return x.Eval(func(tag string) bool { return tag == "cgo" || tag == "mlx" && mlx })
	}
	return true
}

func exported(fset *token.FileSet, d ast.Decl) []string {
	show := func(n any) string {
		var b bytes.Buffer
		_ = printer.Fprint(&b, fset, n)
		return strings.Join(strings.Fields(b.String()), " ")
	}
	var out []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			recv := ""
			if d.Recv != nil {
				recv = show(d.Recv.List[0].Type) + "."
			}
			out = append(out, recv+d.Name.Name+" "+show(d.Type))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					out = append(out, "type "+show(s))
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						out = append(out, d.Tok.String()+" "+n.Name)
					}
				}
			}
		}
	}
	return out
}
