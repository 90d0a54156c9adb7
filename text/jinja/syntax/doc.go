// Package syntax reads Jinja templates: text and tags to tokens, tokens to a tree.
//
// The rules are those of Jinja 3.1 with the settings that transformers uses for chat templates: trim_blocks,
// lstrip_blocks, loop controls, the generation tag, no loader. What a template of a single file cannot use (include,
// import, extends) is refused by name.
//
// Every node knows its line. The package never evaluates anything.
package syntax
