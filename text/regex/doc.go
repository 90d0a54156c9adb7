// Package regex matches the patterns of tokenizer files: Oniguruma's syntax, which Python's tokenizers uses, with its
// classes (package ucd) and its order of preference.
//
// Go's regexp has no lookahead and no possessive quantifier; the pre-tokenisers of every large model need one of them.
// This engine backtracks, as Oniguruma does, over an explicit stack. Both the stack and the number of steps are bounded,
// so a hostile pattern or text ends in an error, never in a hang or a dead stack.
//
// The package has no captures, backreferences, subroutine calls or conditionals: a pattern that uses one is refused by
// name when it is compiled. It never replaces text and knows nothing about tokens.
package regex
