// Package native holds graphrun's own MLX primitives for the CPU: C++ that MLX runs as it runs its own operations, on the
// threads of an engine. The arithmetic stands in package kernels, compiled once for each instruction set; the processor
// is asked once which of them it runs.
//
// It has two faces, as package mlx does: without the build tag `mlx` its calls fail with mlx.ErrNoMLX.
//
// The package never decides which kernel computes what: a class of the registry asks for it by name.
package native
