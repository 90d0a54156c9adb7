package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/stretchr/testify/require"
)

// plain are expressions of the kinds that are read and evaluated without CEL.
var plain = []string{
	"heads", "12", "-3", "1e-6", "2.5", "'a b'", `"x"`, "true", "heads * 2 + 1", "2 * (heads - 1) % 5", "heads / 3", "-heads + 1", "- 4 * heads",
	"kind == 'x'", `kind != "sliding" && !tie || heads >= 4.5`, "tie ? heads : 0", "heads > 1 ? eps : 0.0", "heads in [1, 32]", "kind in ['a', 'sliding']",
	"w.bits == 4 && w.group in [32, 64] && w.inputs / w.bits >= 4", "types[heads - 31]", "types[9] == 'x'", "config.int('hidden_size')", "config.int('nope', 3 * heads)",
	"config.int('nope')", "config.dict('text_config', config).float('hidden_size', 0.5)", "config.dict('none', {}).has('x')", "config.strings('layer_types')[1] == 'x'",
	"pow(heads, -0.5)", "min(heads, 3) + max(1.5, heads)", "int(heads * 0.25)", "abs(-3) == 3", "given.x ? 1 : 2", "given.nope", "heads / 0 == 1 || true", "true && heads / 0 == 1",
	"size(types) + size(kind)", "types.size()", "size(tensors('**.x')) > 0", "tensors('**').exists(t, t.shape[2] != 1)", "tensors('**').all(t, t.dtype == 'float16' && t.shape[0] == heads)",
	"types.exists(t, t == kind)", "types.all(t, t != 'none' || heads / 0 == 1)", "types.exists(t, heads / 0 == 1 || t == 'full')", "types.all(heads, heads == 'full')", "[1, 2].exists(i, [3].all(k, k > i))",
	"types.exists(types[0], true)", "types.exists(t)", "types.exists(__result__, true)", "!types.exists(t, t == 'x') && true", "types.exists(t, t)", "given.all(k, true)",
	"a || b && c", "1 < 2 == true", "a.b.c", "f(1)[2].g(3, x)", "a ? b : c ? d : e", "x && y && z && w", "!a.b", "[1, 2,]", "(((1)))", "9223372036854775807 + 1", "1 +", "a b", "@",
}

func someTensors(pattern string) ([]Tensor, error) {
	if pattern != "**" {
		return nil, nil
	}
	return []Tensor{{"a", []int{32, 4, 1}, "float16"}, {"b", []int{32}, "float16"}, {"c", []int{32, 4, 2}, "float16"}}, nil
}

func plainScope() names {
	s := scope()
	s["w"] = Record("weight", map[string]any{"storage": "affine", "bits": 4, "group": 64, "inputs": 2048})
	s["types"] = Of([]string{"full", "sliding"})
	s["given"] = Of(map[string]bool{"x": true})
	return s
}

// sameAsCEL holds the plain parser and direct evaluation to CEL's.
func sameAsCEL(t *testing.T, src string) {
	e, err := New(someTensors)
	require.NoError(t, err)
	tree, ok := plainTree(src)
	if !ok {
		return
	}
	want, issues := e.base.Parse(src)
	require.NoError(t, issues.Err(), "%q is wrong to CEL", src)
	require.Equal(t, dump(want.NativeRep()), dump(tree), "%q", src)

	s := plainScope()
	p := &parsed{src: src, tree: tree}
	p.collect()
	d := &directly{e: e, names: p.names}
	var vars []cel.EnvOption
	values := map[string]any{}
	var in []ref.Val
	for _, u := range p.names {
		v, ok := s[u.name]
		if !ok {
			return
		}
		d.types, in = append(d.types, v.Type), append(in, v.Val)
		vars, values[u.name] = append(vars, cel.Variable(u.name, v.Type)), v.Val
	}
	run, of := d.expr(tree.Expr())
	if run == nil {
		return
	}
	env, err := e.base.Extend(vars...)
	require.NoError(t, err)
	checked, issues := env.Check(want)
	require.NoError(t, issues.Err(), "%q has no type to CEL", src)
	require.Equal(t, TypeName(checked.OutputType()), TypeName(of), "%q", src)
	program, err := env.Program(checked)
	require.NoError(t, err)
	out, _, err := program.Eval(values)
	got := run(in)
	if failed, bad := got.(*types.Err); bad {
		require.Error(t, err, "%q", src)
		require.Equal(t, err.Error(), failed.Error(), "%q", src)
		return
	}
	require.NoError(t, err, "%q", src)
	require.Equal(t, Value{Val: out}.Show(), Value{Val: got}.Show(), "%q", src)
}

// dump writes a tree with the places of its nodes.
func dump(a *ast.AST) string {
	var b strings.Builder
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		at, _ := a.SourceInfo().GetOffsetRange(x.ID())
		fmt.Fprintf(&b, "%d ", at.Start)
		switch x.Kind() {
		case ast.LiteralKind:
			fmt.Fprintf(&b, "%T %v\n", x.AsLiteral(), x.AsLiteral().Value())
		case ast.IdentKind:
			fmt.Fprintf(&b, "%s\n", x.AsIdent())
		case ast.SelectKind:
			fmt.Fprintf(&b, ".%s %v\n", x.AsSelect().FieldName(), x.AsSelect().IsTestOnly())
		case ast.CallKind:
			fmt.Fprintf(&b, "%s %v %d\n", x.AsCall().FunctionName(), x.AsCall().IsMemberFunction(), len(x.AsCall().Args()))
		case ast.ListKind:
			fmt.Fprintf(&b, "list %d\n", x.AsList().Size())
		case ast.ComprehensionKind:
			fmt.Fprintf(&b, "loop %s %s\n", x.AsComprehension().IterVar(), x.AsComprehension().AccuVar())
		default:
			fmt.Fprintf(&b, "%v\n", x.Kind())
		}
	}))
	return b.String()
}

func TestPlain(t *testing.T) {
	e, err := New(nil)
	require.NoError(t, err)
	s := plainScope()
	direct := 0
	for _, src := range plain {
		sameAsCEL(t, src)
		if c := e.compile(e.parse(src), s); c.err == nil && c.run != nil {
			direct++
		}
	}
	require.Equal(t, 50, direct, "so many of these need no program")
}

func FuzzPlain(f *testing.F) {
	for _, src := range plain {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) < 500 {
			sameAsCEL(t, src)
		}
	})
}
