package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/diag"
)

// composed are codes that the source does not write out.
var composed = map[string]bool{"unused-let": true, "unused-param": true, "unused-port": true}

// TestEveryCodeIsExplained finds the codes of diagnostics in the source: every word with a hyphen in the composer, and
// what is given as a code: the first text of Errorf, Warnf and Add with a place, and the field Code.
func TestEveryCodeIsExplained(t *testing.T) {
	files, set := sources(t)
	code := regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)*$`)
	used := map[string]bool{}
	use := func(e ast.Expr, hyphen bool) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		word, err := strconv.Unquote(lit.Value)
		if err != nil || !code.MatchString(word) || hyphen && !strings.Contains(word, "-") {
			return
		}
		used[word] = true
		if _, ok := diag.Explain(word); !ok {
			t.Errorf("%s: the code %s has no entry in diag/codes.md", set.Position(lit.Pos()), word)
		}
	}
	for _, f := range files {
		if f.pkg == "diag" {
			continue
		}
		composer := f.pkg == "compose" || strings.HasPrefix(f.pkg, "compose/")
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if composer {
					use(n, true)
				}
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				switch {
				case !ok:
				case (s.Sel.Name == "Errorf" || s.Sel.Name == "Warnf") && len(n.Args) > 2:
					use(n.Args[0], false)
				case s.Sel.Name == "placed" && len(n.Args) == 2: // of package model
					use(n.Args[0], false)
				case s.Sel.Name == "Add" && len(n.Args) > 3:
					use(n.Args[1], false)
				}
			case *ast.KeyValueExpr:
				if k, ok := n.Key.(*ast.Ident); ok && k.Name == "Code" {
					use(n.Value, false)
				}
			}
			return true
		})
	}
	for _, e := range diag.Explanations() {
		if !used[e.Code] && !composed[e.Code] {
			t.Errorf("diag/codes.md explains %s, which nothing gives", e.Code)
		}
	}
}
