// Package ucd holds the character classes that token ids depend on, as Python's tokenizers has them.
//
// Go's own tables are of another Unicode version, and so are, each on its own, the three libraries inside that package:
// the regular expressions' classes (Category, Script, Word), Rust's char methods (Numeric, RustWord) and the
// normaliser's (CombiningMark, Active). A letter that only one of two versions knows is split differently, so the tables
// are read out of the package itself (tools/text/make_unicode.py) and embedded as text.
//
// The package never follows Go's Unicode version, and decides nothing about tokenisation.
package ucd
