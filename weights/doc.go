// Package weights opens the tensors that a plan asks for: it carries out the recipes of package view on the files whose
// headers package header has read.
//
// Opening is lazy. A file is mapped, read-only, when the first of its tensors is needed; a tensor that is stored as MLX
// holds it is not copied, and goes when its last array goes. What is stored otherwise (GGUF's blocks, safetensors data
// off its alignment) is unpacked into memory outside Go's heap, by several workers. Arrays are made on the caller's
// thread, in the caller's scope.
//
// The package decides nothing: which tensors, under which names, was settled before one was opened. It never writes to a
// file and never reads outside the ranges that the headers gave. Without MLX it compiles, and opening fails.
package weights
