//go:build cgo && mlx

package pooltest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx/native/internal/pooltest"
)

// TestPool: each piece of each job is done once, while the job is under way, whatever the number of threads; pools end
// whatever their workers do.
func TestPool(t *testing.T) {
	require.NoError(t, pooltest.Scratch())
	for threads := 1; threads <= 8; threads++ {
		t.Run(fmt.Sprintf("%d threads", threads), func(t *testing.T) {
			require.NoError(t, pooltest.Jobs(threads, 1200, 9))
			require.NoError(t, pooltest.Jobs(threads, 60, 300))
			require.NoError(t, pooltest.Ends(threads, 12))
		})
	}
}
