package header

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
)

func TestListing(t *testing.T) {
	got, err := ParseListing("t.json", strings.NewReader(`{"b.weight": {"dtype": "uint32", "shape": [4, 8], "file": "x"}, "a": {"dtype": "bfloat16", "shape": []}, "__missing__": []}`))
	require.NoError(t, err)
	require.Equal(t, []Tensor{{Name: "a", Dtype: dtype.Bfloat16, Stored: "BF16", Shape: []int{}, File: "t.json"},
		{Name: "b.weight", Dtype: dtype.Uint32, Stored: "U32", Shape: []int{4, 8}, File: "t.json"}}, got)
	for name, c := range map[string]struct{ text, err string }{
		"no JSON":  {`{"a"`, "t.json: unexpected EOF"},
		"dtype":    {`{"a": {"dtype": "BF16", "shape": [1]}}`, `t.json: "a": "BF16" is no dtype`},
		"no shape": {`{"a": {"dtype": "bool"}}`, `t.json: "a": no tensor has the shape []`},
		"negative": {`{"a": {"dtype": "bool", "shape": [-1]}}`, `t.json: "a": no tensor has the shape [-1]`},
		"large":    {`{"a": {"dtype": "bool", "shape": [3000000000]}}`, `t.json: "a": dim 0 of shape [3000000000] is not within 0 and 2^31-1`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseListing("t.json", strings.NewReader(c.text))
			require.EqualError(t, err, c.err)
		})
	}
}
