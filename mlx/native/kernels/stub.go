//go:build !(cgo && mlx)

package kernels

// Best is 0: this build has no kernels.
func Best() uintptr { return 0 }

// Named is 0: this build has no kernels.
func Named(string) uintptr { return 0 }

// InOrder is false: this build has no kernels.
func InOrder() bool { return false }
