// Package cursor understands where in a graph file a cursor stands: the way there through keys and lists, the word at it,
// the call that it is in, the names that it sees, and what an expression may say there. It reads a text that is being
// typed as well as one that is right. It answers nothing itself and knows no editor.
package cursor
