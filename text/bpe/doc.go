// Package bpe turns a word into token ids by byte-pair encoding: it starts from characters (or bytes) and merges the
// neighbouring pair of the lowest rank until none is left.
//
// It follows Python's tokenizers to the id: byte fallback, unknown tokens and their fusing, prefixes and suffixes of
// word parts, ignore_merges, and the order among equal ranks (leftmost first). A word of n characters costs
// O(n log n) merges, so a megabyte of one letter takes well under a second.
//
// The package never splits text into words, never normalises it and never decodes ids.
package bpe
