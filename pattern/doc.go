// Package pattern is the language's patterns over dotted names: tensor names, port paths, state paths.
//
//   - any text within one segment, also none
//     **      any number of whole segments, also none, together with their dot
//     {e}     one segment, captured under the name e
//     {a,b}   one of these texts, which may be empty or hold dots
//
// Everything else stands for itself. A pattern matches a whole name. Matching takes time in proportion
// to the name, so patterns of others are safe to run. The package knows nothing of tensors or graphs and never
// guesses: what it cannot read is an error with its column.
package pattern
