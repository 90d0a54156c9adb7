// Package schema describes graph files as JSON Schema (2020-12), for editors and for anyone who reads YAML without this
// program: one document for models, blocks, variants and rules, chosen by `kind`. Operators, classes, states, kinds of
// port and the shipped blocks, with their parameters and documentation, come from the registry and from the files
// themselves; the language's own keys are described here, and nowhere else.
//
// A schema sees shapes and words, not names in scope: what calls a port of the body or a block of the user's own is
// open to it, an expression is text. It accepts every file that the composer accepts; what it refuses is an error.
package schema
