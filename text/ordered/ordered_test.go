package ordered

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	v, err := Parse([]byte("\ufeff {\"b\": 1, \"a\": [1.0, -2e3, true, null, \"x\\u00e9\\n\\ud83d\\ude00\\ud83d\"], \"b\": {}, \"n\": 12345678901234567890} "))
	require.NoError(t, err)
	o := v.(*Object)
	require.Equal(t, []string{"b", "a", "n"}, o.Keys())
	a, _ := o.Get("a")
	require.Equal(t, []any{1.0, -2000.0, true, nil, "xé\n😀\uFFFD"}, a)
	n, _ := o.Get("n")
	require.Equal(t, Number("12345678901234567890"), n)
	out, err := json.Marshal(o)
	require.NoError(t, err)
	require.Equal(t, `{"b":{},"a":[1.0,-2000.0,true,null,"xé\n😀`+"\uFFFD"+`"],"n":12345678901234567890}`, string(out))
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{``, `line 1, column 1: expected a value, found the end of the document`},
		{`{"a": 1,}`, `line 1, column 9: expected a string, found "}"`},
		{"{\n \"é\" 1}", `line 2, column 6: expected ':' after the key "é", found a number`},
		{`[1 2]`, `line 1, column 4: expected ',' or ']', found a number`},
		{`[01]`, `line 1, column 2: expected a number, found a number`},
		{`"abc`, `line 1, column 1: the string is not closed`},
		{"\"a\tb\"", `line 1, column 3: the control character 0x09 must be escaped in a string`},
		{`"\q"`, `line 1, column 2: unknown escape in a string`},
		{`"\u12"`, `line 1, column 2: \u needs four hexadecimal digits`},
		{`1 1`, `line 1, column 3: expected the end of the document, found a number`},
		{"[\"a\xff\"]", `line 1, column 4: byte 0xFF is not valid UTF-8`},
		{strings.Repeat("[", 1000), `line 1, column 513: nested deeper than 512 levels`},
	} {
		_, err := Parse([]byte(c.source))
		require.EqualError(t, err, c.want, c.source)
	}
}

func TestReader(t *testing.T) {
	r, err := NewReader([]byte(`{"v": {"a": 0, "b": 7}, "m": [["x", "y"], "z"], "skip": [{"q": [1]}], "big": 99999999999}`))
	require.NoError(t, err)
	ids, texts := map[string]int32{}, []string(nil)
	err = r.Object(func(key string) error {
		switch key {
		case "v":
			return r.Object(func(token string) (err error) {
				ids[token], err = r.Int()
				return err
			})
		case "m":
			return r.Array(func() error {
				if r.Next() == '[' {
					return r.Array(func() error {
						s, err := r.String()
						texts = append(texts, s)
						return err
					})
				}
				s, err := r.String()
				texts = append(texts, s)
				return err
			})
		case "big":
			_, err := r.Int()
			return err
		}
		return r.Skip()
	})
	require.ErrorContains(t, err, "expected a 32-bit integer, found 99999999999")
	require.Equal(t, map[string]int32{"a": 0, "b": 7}, ids)
	require.Equal(t, []string{"x", "y", "z"}, texts)
}

func TestObject(t *testing.T) {
	o := NewObject("a", "x", "b", true, "n", int64(3), "l", []any{}, "o", &Object{})
	o.Set("a", "y")
	o.Delete("b")
	o.Delete("nope")
	require.Equal(t, []string{"a", "n", "l", "o"}, o.Keys())
	require.Equal(t, 4, o.Len())
	text, ok, err := o.Text("a")
	require.True(t, ok)
	require.NoError(t, err)
	require.Equal(t, "y", text)
	for _, f := range []func() error{
		func() error { _, _, err := o.Text("n"); return err },
		func() error { _, err := o.Bool("a", false); return err },
		func() error { _, err := o.Int("a", 0); return err },
		func() error { _, err := o.Array("a"); return err },
		func() error { _, err := o.Object("a"); return err },
	} {
		require.ErrorContains(t, f(), "must be")
	}
	var none *Object
	require.Zero(t, none.Len())
	require.Empty(t, slices.Collect(func(yield func(string) bool) {
		for k := range none.All() {
			yield(k)
		}
	}))
}

func TestFromGo(t *testing.T) {
	v, err := FromGo(map[string]any{"b": 1, "a": []string{"x"}, "c": json.Number("1.0"), "d": struct {
		X float32 `json:"x"`
	}{0.5}})
	require.NoError(t, err)
	out, err := json.Marshal(v)
	require.NoError(t, err)
	require.Equal(t, `{"a":["x"],"b":1,"c":1.0,"d":{"x":0.5}}`, string(out))
	_, err = FromGo(map[string]any{"f": func() {}})
	require.ErrorContains(t, err, "f: a value of type func() has no JSON form")
	_, err = json.Marshal(NewObject("x", math.NaN()))
	require.Error(t, err)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"\u00e9",null,true]}`, `[[[[]]]]`, `"\ud83d\ude00"`, "-0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data)
		if err != nil {
			return
		}
		out, err := json.Marshal(NewObject("v", v))
		if err != nil {
			return // an infinity
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		once, _ := json.Marshal(again)
		if string(once) != string(out) {
			t.Fatalf("%q and %q", out, once)
		}
	})
}
