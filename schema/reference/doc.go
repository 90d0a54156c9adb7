// Package reference answers what a name of the language means: an operator, a class, a kind of state or port, a shipped
// block or model, or a file of the user's. It turns the registry's entries and the files' own headers into one form,
// which `graphrun doc`, `ops` and `classes` print, editors show, and the schema is made from. It runs nothing and checks
// no call.
package reference
