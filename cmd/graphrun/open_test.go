package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1000": 1000, "500M": 500 << 20, "6GiB": 6 << 30, "2g": 2 << 30, "1.5 KiB": 1536, "1kb": 1024, "7B": 7, "1TiB": 1 << 40,
	} {
		var s size
		require.NoError(t, s.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, int64(s), text)
	}
	for _, text := range []string{"", "much", "-1", "1X", "1GiBs", "GiB", "1e400", "nan", "9999999TiB", "1 2", "inf"} {
		var s size
		require.Error(t, s.UnmarshalText([]byte(text)), text)
	}
}
