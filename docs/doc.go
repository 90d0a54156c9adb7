// Package docs has no code: its tests keep the written documentation true. They generate operators.md and errors.md,
// compose every graph file that the documents and examples show, and follow the links between them.
package docs
