// Package format writes graph files in their canonical form: keys of a file, an entry and a rule in a fixed order,
// two-space indents with lists at their key's column, one space inside and after commas, single quotes unless the text
// holds one, no trailing space, lines broken at a comma where they are too long.
//
// It edits the text and keeps what a person chose: comments and the column they stand at, flow or block style, aligned
// values, blank lines (one at a time), quotes. It never changes what a file means: the nodes before and after are
// compared, and a file for which they differ is left as it was. Formatting twice gives what formatting once gave.
package format
