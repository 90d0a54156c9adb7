// Package draft writes graph files to start from: a variant of the model that recognises a checkpoint, or, where none does, a
// model file made of the shipped one whose tensors are most like the checkpoint's. It writes what it found and what it
// could not decide into comments; it never runs anything and opens no tensor.
package draft
