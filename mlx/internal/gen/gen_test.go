package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGeneratedIsCurrent: regeneration changes nothing.
func TestGeneratedIsCurrent(t *testing.T) {
	out := filepath.Join("..", "..")
	include, err := findInclude(out)
	if err != nil {
		t.Skip(err)
	}
	files, err := generate(include)
	require.NoError(t, err)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s is stale: run go generate ./mlx", name)
	}
	old, err := filepath.Glob(filepath.Join(out, "*_gen.*"))
	require.NoError(t, err)
	require.Len(t, old, len(files), "a generated file that nothing makes any more")
}

func TestParse(t *testing.T) {
	fs, err := parse(`
/** int mlx_in_a_comment(mlx_array* res); */
typedef struct mlx_x_ { void* ctx; } mlx_x;
int mlx_fast_rms_norm(
    mlx_array* res,
    const mlx_array x,
    const mlx_array weight /* may be null */,
    float eps,
    const mlx_stream s);
int mlx_split_sections(
    mlx_vector_array* res, const mlx_array a, const int* indices, size_t indices_num, int axis, const mlx_stream s);
int mlx_random_seed(uint64_t seed);
`, map[string]string{"mlx_random_seed": ""})
	require.NoError(t, err)
	require.Len(t, fs, 2)
	require.Equal(t, "(s *Scope) FastRMSNorm(x, weight Array, eps float32) Array", signature(fs[0]))
	require.Regexp(t, `^// FastRMSNorm is mlx_fast_rms_norm\. [^\n]+\n// [^\n]+ Weight may be absent\.$`, comment(fs[0]))
	require.Equal(t, "gr_one gr_fast_rms_norm(uintptr_t x, uintptr_t weight, float eps, uintptr_t s)", cSignature(fs[0]))
	require.Equal(t, "(s *Scope) SplitSections(a Array, indices []int, axis int) []Array", signature(fs[1]))
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, header, want string }{
		{"a new type", "int mlx_a(mlx_array* res, const mlx_thing t);", `mlx_a: parameter "const mlx_thing t": unknown type`},
		{"no result", "int mlx_a(int x, const mlx_stream s);", `mlx_a: its first parameter "int x" is no result`},
		{"no length", "int mlx_a(mlx_array* res, const int* shape, int n);", `mlx_a: parameter "const int* shape" has no length after it`},
		{"a new pointer", "int mlx_a(mlx_array* res, float* x);", "unknown pointer type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.header, nil)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"add": "Add", "gather_qmm": "GatherQMM", "from_fp8": "FromFP8", "fast_rope": "FastRope", "atleast_1d": "Atleast1D",
		"conv_transpose2d": "ConvTranspose2d",
	} {
		require.Equal(t, want, goName(in))
	}
	for in, want := range map[string]string{"group_size": "groupSize", "logits_": "logits", "type": "dtype", "M": "m", "s": "x"} {
		require.Equal(t, want, goParam(in))
	}
}

// TestNotes: each note is of an operation that there is.
func TestNotes(t *testing.T) {
	include, err := findInclude(filepath.Join("..", ".."))
	if err != nil {
		t.Skip(err)
	}
	left := map[string]bool{}
	for op := range notes {
		left[op] = true
	}
	for _, h := range headers {
		text, err := os.ReadFile(filepath.Join(include, "mlx", "c", h+".h"))
		require.NoError(t, err)
		for _, m := range reFunction.FindAllStringSubmatch(string(text), -1) {
			delete(left, strings.TrimPrefix(m[1], "mlx_"))
		}
	}
	require.Empty(t, left)
}
