package arch

import (
	"slices"
	"strings"
	"testing"
)

// mayImport says, of each package, which others of the module it may import; "x/..." stands for x and what is below it.
// Imports point one way: mlx <- weights <- registry <- ops <- engine <- model <- cmd. The composer stands on registry,
// plan and the headers of checkpoints: it needs no MLX, and it and the engine share the plan and do not know each other.
//
// A package without an entry has that of the folder above it.
var mayImport = map[string]string{
	"dtype":   "",
	"shape":   "",
	"pattern": "",
	"port":    "",
	"trellis": "",
	"graphs":  "",
	"diag":    "",

	"mlx":                          "dtype",
	"mlx/internal/gen":             "",
	"mlx/native":                   "dtype mlx mlx/native/kernels trellis",
	"mlx/native/kernels":           "",
	"mlx/native/internal/pooltest": "mlx/native",

	"weights/header":            "diag dtype pattern",
	"weights/view":              "dtype pattern weights/header",
	"weights":                   "dtype mlx pattern weights/header weights/view",
	"weights/adapter":           "diag plan weights/header weights/view",
	"weights/internal/testfile": "dtype weights/header",

	"plan":     "diag dtype shape weights/view",
	"registry": "diag dtype mlx mlx/native plan port shape",
	"ops":      "diag dtype mlx mlx/native plan port registry shape trellis",

	"compose/source": "diag",
	"compose/syntax": "compose/source diag port",
	"compose/expr":   "diag plan shape",
	"compose":        "compose/... diag dtype pattern plan port registry shape trellis weights/header weights/view",

	"engine": "diag dtype mlx mlx/native plan registry shape weights weights/adapter weights/header weights/view",

	"quantize": "compose/source diag dtype mlx mlx/native pattern plan text/ordered trellis weights weights/adapter weights/header weights/view",

	// What reads graph files and plans for people and editors: no MLX, and the engine is not known.
	"draft":   readers,
	"explain": readers,
	"schema":  readers,
	"show":    readers,
	"lsp":     readers + " lsp/...",

	"text":         "text/...",
	"text/bpe":     "",
	"text/jinja":   "text/...",
	"text/ordered": "",
	"text/regex":   "text/ucd",
	"text/steps":   "text/...",
	"text/ucd":     "",

	"trace": "dtype engine plan weights/header",

	"model":        "...",
	"cmd/graphrun": "...",
	"docs":         "...",
	"tools":        "",
	"e2e":          "...",
	"examples":     "model text",

	"internal/arch":    "",
	"internal/deps":    "",
	"internal/process": "",
}

const readers = "compose/... diag dtype explain/... graphs plan port registry schema/... shape show/... weights/adapter weights/header weights/view"

// ruleFor finds the entry of a package or of the nearest folder above it.
func ruleFor(pkg string) (string, bool) {
	for name := pkg; ; {
		if rule, ok := mayImport[name]; ok {
			return rule, true
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return "", false
		}
		name = name[:i]
	}
}

func allowed(rule, pkg string) bool {
	return slices.ContainsFunc(strings.Fields(rule), func(r string) bool {
		above, whole := strings.CutSuffix(r, "...")
		return r == pkg || whole && strings.HasPrefix(pkg+"/", above)
	})
}

func TestImportsPointOneWay(t *testing.T) {
	files, _ := sources(t)
	for _, f := range files {
		rule, ok := ruleFor(f.pkg)
		if !ok {
			t.Errorf("%s: package %s is not in mayImport: say there what it may import", f.name, f.pkg)
			continue
		}
		for _, i := range f.imports {
			if strings.HasPrefix(i, "cmd/") || !allowed(rule, i) {
				t.Errorf("%s imports %s; %s may import: %s", f.name, i, f.pkg, rule)
			}
		}
	}
}

// The packages that people without MLX use must not need cgo, which only mlx has.
func TestOnlyMLXUsesC(t *testing.T) {
	files, _ := sources(t)
	for _, f := range files {
		for _, i := range f.ast.Imports {
			if i.Path.Value == `"C"` && f.pkg != "mlx" && !strings.HasPrefix(f.pkg, "mlx/") {
				t.Errorf("%s uses cgo", f.name)
			}
		}
	}
}
