// Package view turns a checkpoint's tensors into a model's weights: a pipeline of steps that drop, rename, change, split,
// stack and join tensors, each step seeing the names that the last one left.
//
// The result is a recipe per weight: which stored tensors it is made of, and how. Shapes and element types are worked
// out here, from headers alone; no tensor is read, and nothing needs MLX. Whoever opens a weight carries its recipe out,
// whole or for a range of it.
//
// A step on `X.weight` takes X.scales and X.biases along where it only moves names or rows, and the quantization table
// with them. It never reorders what it cannot: an operation on the numbers of a quantised weight is an error.
package view
