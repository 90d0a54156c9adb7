// Package kernels is the arithmetic of package native, apart from MLX: C++ functions on plain memory, compiled once for each
// instruction set. It is a package of its own because it takes long to compile and changes seldom.
//
// Go sees nothing of it but the address of a table of functions (struct Kernels in kernels.h), which package native calls.
package kernels
