package diag

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExplanations(t *testing.T) {
	all := Explanations()
	require.NotEmpty(t, all)
	code := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	for _, e := range all {
		require.Regexp(t, code, e.Code)
		require.NotEmpty(t, e.Title, e.Code)
		require.NotEmpty(t, e.Text, e.Code)
		found, ok := Explain(e.Code)
		require.True(t, ok)
		require.Equal(t, e, found)
	}
	require.True(t, slices.IsSortedFunc(all, func(a, b Explanation) int {
		if a.Code < b.Code {
			return -1
		}
		return 1
	}), "codes.md is in alphabetical order, each code once")
	_, ok := Explain("no-such-code")
	require.False(t, ok)
}

func TestExplanationPrints(t *testing.T) {
	e, ok := Explain("want-bool")
	require.True(t, ok)
	require.Equal(t, "want-bool: true or false is wanted\n\n    optional: true\n", e.String())
}
