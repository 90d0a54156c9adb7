package process

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPeakMemory(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system does not tell")
	}
	before := PeakMemory()
	require.Greater(t, before, int64(1<<20))
	big := make([]byte, 64<<20)
	for i := range big {
		big[i] = 1
	}
	require.Greater(t, PeakMemory(), before)
	runtime.KeepAlive(big)
}
