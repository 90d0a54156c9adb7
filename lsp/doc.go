// Package lsp is a language server for graph files: what an editor asks while a person writes one. Diagnostics are the
// composer's, of the text as it stands in the editor; hovering explains operators, blocks, parameters, keys and names;
// completion knows the keys that a place has and the names in scope; definitions lead to the line that gives a name or
// to a block's file, shipped ones too; formatting is that of `graphrun fmt`.
//
// It opens no checkpoint and writes no file but copies of shipped ones, to be shown, in the user's cache folder.
package lsp
