// Package arch holds the tests of what the source code itself has to be: which package may import which, that no Go file
// knows a model by its name, that every code of a diagnostic is explained. It has no code of its own.
package arch
