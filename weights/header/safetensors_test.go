package header

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/weights/internal/testfile"
)

func parse(b []byte) ([]Tensor, map[string]string, error) {
	return parseSafetensors("f", bytes.NewReader(b), int64(len(b)))
}

func TestSafetensors(t *testing.T) {
	file := testfile.Safetensors(` {"__metadata__":{"format":"mlx"}, "b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},
"scalar":{"shape":[],"data_offsets":[0,4],"dtype":"F32","extra":[{"x":null}]},"codes":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[16,17]},"none":{"dtype":"I64","shape":[0,5],"data_offsets":[17,17]}}  `[1:], make([]byte, 17))
	tensors, metadata, err := parse(file)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"format": "mlx"}, metadata)
	data := int64(len(file) - 17)
	require.Equal(t, []Tensor{
		{Name: "b", Dtype: dtype.Bfloat16, Stored: "BF16", Shape: []int{2, 3}, File: "f", Offset: data + 4, Size: 12},
		{Name: "codes", Dtype: dtype.Uint8, Stored: "F8_E4M3", Shape: []int{1}, File: "f", Offset: data + 16, Size: 1},
		{Name: "none", Dtype: dtype.Int64, Stored: "I64", Shape: []int{0, 5}, File: "f", Offset: data + 17, Size: 0},
		{Name: "scalar", Dtype: dtype.Float32, Stored: "F32", Shape: []int{}, File: "f", Offset: data, Size: 4},
	}, tensors)
	require.EqualValues(t, 6, tensors[0].Elements())
	require.EqualValues(t, 12, tensors[0].Bytes())
}

func tensorHeader(dtype, shape, offsets string) string {
	return fmt.Sprintf(`{"x":{"dtype":%q,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
}

// hostileSafetensors are headers that must be refused, with what the error says.
var hostileSafetensors = []struct {
	name string
	file []byte
	want string
}{
	{"empty", nil, "not a safetensors file: it has only 0 bytes"},
	{"short", []byte("12345678"), "not a safetensors file"},
	{"other file", []byte("PK\x03\x04 this is a zip file"), "begins with byte 0x73"},
	{"length over the limit", append(binary.LittleEndian.AppendUint64(nil, 1<<63), '{', '}'), "the format allows 100000000"},
	{"length over the file", append(binary.LittleEndian.AppendUint64(nil, 1000), '{', '}'), "ends within its header (2 of 1000 bytes): its download is incomplete"},
	{"length of nothing", append(binary.LittleEndian.AppendUint64(nil, 0), '{', '}'), "expected an object"},
	{"no JSON", testfile.Safetensors(`{"x":`, nil), "header, line 1, column 6: expected an object"},
	{"after the header", testfile.Safetensors(`{} x`, nil), "after the end"},
	{"cut data", testfile.Safetensors(tensorHeader("F32", "[2]", "[0,8]"), make([]byte, 7)), `tensor "x" lies at`},
	{"unknown type", testfile.Safetensors(tensorHeader("Q9", "[2]", "[0,8]"), make([]byte, 8)), `tensor "x": unknown element type "Q9"`},
	{"packed type", testfile.Safetensors(tensorHeader("F4", "[2]", "[0,1]"), make([]byte, 1)), `tensor "x": its element type F4 is narrower than a byte`},
	{"size and shape", testfile.Safetensors(tensorHeader("F32", "[3]", "[0,8]"), make([]byte, 8)), "shape [3] of F32 needs 12 bytes, and it has 8"},
	{"negative dim", testfile.Safetensors(tensorHeader("F32", "[-2]", "[0,8]"), make([]byte, 8)), "-2 is no size"},
	{"fraction", testfile.Safetensors(tensorHeader("F32", "[2.0]", "[0,8]"), make([]byte, 8)), "2 is no size"},
	{"huge dim", testfile.Safetensors(tensorHeader("U8", "[4294967296]", "[0,8]"), make([]byte, 8)), "not within 0 and 2^31-1"},
	{"overflowing dims", testfile.Safetensors(tensorHeader("F32", "[2147483647,2147483647,2147483647,8]", "[0,8]"), make([]byte, 8)), "larger than any file"},
	{"overflow to right size", testfile.Safetensors(tensorHeader("U8", "[65536,65536,65536,65536]", "[0,0]"), nil), "larger than any file"},
	{"many dims", testfile.Safetensors(tensorHeader("U8", "["+strings.Repeat("1,", 20)+"1]", "[0,1]"), make([]byte, 1)), "more than 16 dims"},
	{"reversed", testfile.Safetensors(tensorHeader("U8", "[0]", "[8,0]"), make([]byte, 8)), "ends (0) before it begins (8)"},
	{"offsets over the file", testfile.Safetensors(tensorHeader("U8", "[1]", "[4611686018427387903,4611686018427387904]"), make([]byte, 1)), "the file ends at byte"},
	{"three offsets", testfile.Safetensors(tensorHeader("U8", "[1]", "[0,1,2]"), make([]byte, 1)), "more than two numbers"},
	{"one offset", testfile.Safetensors(tensorHeader("U8", "[1]", "[0]"), make([]byte, 1)), "has 1 numbers"},
	{"gap at the end", testfile.Safetensors(tensorHeader("U8", "[1]", "[0,1]"), make([]byte, 2)), "1 bytes at the end of the file belong to no tensor"},
	{"gap before", testfile.Safetensors(tensorHeader("U8", "[1]", "[1,2]"), make([]byte, 2)), `before tensor "x", belong to no tensor`},
	{"overlap", testfile.Safetensors(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}}`, make([]byte, 7)), `tensors "a" and "b" overlap at byte`},
	{"same range", testfile.Safetensors(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, make([]byte, 4)), "overlap"},
	{"duplicate", testfile.Safetensors(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, make([]byte, 2)), `tensor "a" is there twice`},
	{"duplicate key", testfile.Safetensors(`{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, make([]byte, 1)), "dtype is given twice"},
	{"no shape", testfile.Safetensors(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, make([]byte, 1)), `tensor "a": it has no shape`},
	{"no name", testfile.Safetensors(`{"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, make([]byte, 1)), "a tensor has no name"},
	{"long name", testfile.Safetensors(`{"`+strings.Repeat("n", 2000)+`":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, make([]byte, 1)), "names are too long"},
	{"metadata of numbers", testfile.Safetensors(`{"__metadata__":{"a":1}}`, nil), "expected a string"},
	{"metadata twice", testfile.Safetensors(`{"__metadata__":{},"__metadata__":{}}`, nil), "`__metadata__` is given twice"},
	{"metadata key twice", testfile.Safetensors(`{"__metadata__":{"a":"","a":""}}`, nil), `key "a" of`},
	{"a list as a tensor", testfile.Safetensors(`{"a":[]}`, nil), "expected an object"},
	{"deep", testfile.Safetensors(`{"a":{"x":`+strings.Repeat("[", 1000)+`}}`, nil), "nested deeper"},
}

func TestSafetensorsErrors(t *testing.T) {
	for _, c := range hostileSafetensors {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := parse(c.file)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Large headers: what they may cost is bounded by limits and not by what they claim.
func TestSafetensorsLarge(t *testing.T) {
	one := `"%s%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`
	many := func(n int, prefix string) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, one, prefix, i)
		}
		return b.String() + "}"
	}
	for _, c := range []struct{ name, header, want string }{
		{"too many tensors", many(MaxTensors+1, ""), "more than 50000 tensors"},
		{"too long names", many(20_000, strings.Repeat("n", 1000)), "names are too long"},
		{"too much metadata", `{"__metadata__":{"a":"` + strings.Repeat("x", maxMetadata+1) + `"}}`, "a string of more than"},
		{"too many keys of metadata", `{"__metadata__":{` + strings.TrimSuffix(metadataPairs(100_000), ",") + `}}`, "has more than 4194304 bytes"},
		{"white space and nothing", "{" + strings.Repeat(" ", 30<<20), "expected a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := testfile.Safetensors(c.header, nil)
			err := bounded(t, func() error { _, _, err := parse(file); return err })
			require.ErrorContains(t, err, c.want)
		})
	}
}

func metadataPairs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":"",`, i)
	}
	return b.String()
}
