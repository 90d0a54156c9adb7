// Package py holds the values that a Jinja template computes with, and what Python does to them: operators, truth,
// comparison, repr, string methods, formatting, JSON. Templates are written against Python, so a difference in how None
// prints or how a negative number divides is a different prompt.
//
// A value is one of nil (None), bool, int64, *big.Int, float64, string, Markup, *List, *Tuple, *Dict, *Range, *View,
// *Iter, *Undefined, or something callable (*Func) or with attributes (Object). Values never change after they are made:
// the sandbox of chat templates forbids the methods that would.
//
// Nothing here can build more than MaxSize bytes at once, and nothing panics. The package knows no template syntax.
package py
