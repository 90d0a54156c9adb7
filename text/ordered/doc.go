// Package ordered reads JSON without losing what Go's maps lose: the order of keys, and whether a number was written as
// an integer. A chat template that prints a tool's schema prints it in the order its author wrote, as Python does.
//
// Reader is a pull parser over one document: a caller that knows the shape (a vocabulary of 150,000 entries) consumes it
// without building a tree. Parse builds the tree: nil, bool, int64, float64, Number, string, []any or *Object.
//
// The package never reads files, never logs and keeps no state between documents.
package ordered
