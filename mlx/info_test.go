package mlx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionMismatchNamesBoth(t *testing.T) {
	b := BuildInfo{Available: true, MLX: "0.32.4", MLXExpected: "0.32.2", MLXC: "0.7.0", MLXCExpected: "0.7.0"}
	require.ErrorContains(t, b.Err(), "MLX 0.32.4 is loaded, but mlx-c 0.7.0 was built for MLX 0.32.2")
	b.MLX, b.MLXC = "0.32.2", "0.8.0"
	require.ErrorContains(t, b.Err(), "mlx-c is 0.8.0, but the binding was generated from mlx-c 0.7.0")
	b.MLXC = "0.7.0"
	require.NoError(t, b.Err())
}
