package py

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/text/ordered"
)

func TestFloatRepr(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", -2.5: "-2.5", 0.1: "0.1", 1e15: "1000000000000000.0", 1e16: "1e+16", 1.5e300: "1.5e+300", 1e-4: "0.0001",
		1e-5: "1e-05", 123456789.125: "123456789.125", math.Inf(1): "inf", math.Copysign(0, -1): "-0.0",
	} {
		if got := FloatRepr(f); got != want && !(f == 0 && got == "-0.0") {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

func TestRepr(t *testing.T) {
	d := NewDict(0)
	require.NoError(t, d.Set("k", &Tuple{Items: []any{int64(1)}}))
	require.NoError(t, d.Set(int64(2), nil))
	for _, c := range []struct {
		v    any
		want string
	}{
		{"it's", `"it's"`},
		{`it's "x"`, `'it\'s "x"'`},
		{"a\n\t\\\x00\x7f é\u00a0\u200b😀\U000e0001", `'a\n\t\\\x00\x7f é\xa0\u200b😀\U000e0001'`},
		{&List{[]any{true, 1.0, "x", Missing("y")}}, "[True, 1.0, 'x', Undefined]"},
		{d, "{'k': (1,), 2: None}"},
		{Markup("<"), "Markup('<')"},
		{&View{"items", d}, "dict_items([('k', (1,)), (2, None)])"},
		{&Range{0, 6, 2, 3}, "range(0, 6, 2)"},
	} {
		require.Equal(t, c.want, Repr(c.v))
	}
}

func TestIntegers(t *testing.T) {
	for _, c := range []struct {
		op   string
		a, b int64
		want any
	}{
		{"//", -7, 2, int64(-4)}, {"%", -7, 3, int64(2)}, {"%", 7, -3, int64(-2)}, {"**", 3, 4, int64(81)}, {"**", -2, 63, nil},
		{"**", 2, -1, 0.5}, {"/", 7, 2, 3.5}, {"+", math.MaxInt64, 1, nil}, {"-", math.MinInt64, 1, nil}, {"*", math.MinInt64, -1, nil},
		{"*", math.MaxInt64, 2, nil}, {"//", math.MinInt64, -1, nil}, {"**", 10, 30, nil}, {"//", 1, 0, nil}, {"%", 1, 0, nil}, {"/", 1, 0, nil},
	} {
		got, err := Binary(c.op, c.a, c.b)
		if c.want == nil {
			require.Error(t, err, "%d %s %d", c.a, c.op, c.b)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%d %s %d", c.a, c.op, c.b)
	}
}

func TestEqualAndKeys(t *testing.T) {
	d := NewDict(0)
	require.NoError(t, d.Set(int64(1), "one"))
	require.NoError(t, d.Set(true, "yes"))
	require.NoError(t, d.Set(1.0, "float"))
	require.Equal(t, 1, d.Len(), "1, True and 1.0 are one key")
	v, _ := d.Get(int64(1))
	require.Equal(t, "float", v)
	require.ErrorContains(t, d.Set(&List{}, 1), "unhashable type: 'list'")
	require.True(t, Equal(int64(1), 1.0))
	require.True(t, Equal(true, int64(1)))
	require.False(t, Equal("1", int64(1)))
	require.True(t, Equal(big.NewInt(7), big.NewInt(7)))
	require.False(t, Equal(math.NaN(), math.NaN()))
	require.True(t, Equal(&List{[]any{"a", 1.0}}, &List{[]any{"a", int64(1)}}))
}

func TestJSON(t *testing.T) {
	v := From(ordered.NewObject("b", []any{int64(1), 2.0, nil, "é\u2028<&>"}, "a", &ordered.Object{}))
	one, err := JSON{Item: ", ", Key: ": "}.Dump(v)
	require.NoError(t, err)
	require.Equal(t, `{"b": [1, 2.0, null, "é`+"\u2028"+`<&>"], "a": {}}`, one)
	two, err := JSON{Item: ",", Key: ": ", Indented: true, Indent: "  ", Sorted: true, ASCII: true}.Dump(v)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"a\": {},\n  \"b\": [\n    1,\n    2.0,\n    null,\n    \"\\u00e9\\u2028<&>\"\n  ]\n}", two)
	_, err = JSON{}.Dump(Missing("x"))
	require.ErrorContains(t, err, "Object of type Undefined is not JSON serializable")
}

func TestSlices(t *testing.T) {
	for _, c := range []struct {
		start, stop, step any
		want              string
	}{
		{nil, nil, nil, "héllo"}, {int64(1), int64(3), nil, "él"}, {int64(-2), nil, nil, "lo"}, {nil, nil, int64(-1), "olléh"},
		{int64(4), int64(0), int64(-2), "ol"}, {int64(9), nil, nil, ""}, {int64(-9), int64(2), nil, "hé"}, {nil, nil, int64(math.MaxInt64), "h"},
	} {
		v := GetItem("héllo", Slice{c.start, c.stop, c.step})
		require.NoError(t, Failed(v))
		require.Equal(t, c.want, v)
	}
	require.Error(t, Failed(GetItem("x", Slice{Step: int64(0)})))
}
