// Package steps holds what happens around the model of a tokenizer: normalisers change the text, pre-tokenisers cut it
// into words, post-processors put special tokens around the ids, decoders turn tokens back into text.
//
// Each kind is read from its object in tokenizer.json and does what Python's tokenizers does, to the byte. Decoders are
// written as steps over a stream, so that the text of a generation appears as soon as it is certain, and so that
// decoding a list and streaming it are the same code.
//
// A kind that is not supported is an error that names it and lists the ones that are. The package never looks at a
// vocabulary.
package steps
