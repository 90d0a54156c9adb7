//go:build cgo && mlx

package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
)

func BenchmarkDecode(b *testing.B) {
	for name, path := range map[string]func() string{
		"llama-q4": func() string { return oracleDir(b, "llama-q4") },
		"smollm2":  func() string { return smolLM2(b) },
	} {
		b.Run(name, func(b *testing.B) {
			e := openModel(b, path(), engine.Options{})
			s, err := e.NewSession()
			require.NoError(b, err)
			_, err = s.Generate(context.Background(), []int32{1, 2, 3, 4, 5}, engine.GenOptions{MaxTokens: 4}, nil)
			require.NoError(b, err)
			b.ResetTimer()
			_, err = s.Generate(context.Background(), []int32{1}, engine.GenOptions{MaxTokens: b.N}, nil)
			require.NoError(b, err)
		})
	}
}
