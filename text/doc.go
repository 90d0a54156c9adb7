// Package text turns text into token ids and back, and conversations into prompts.
//
// A Tokenizer comes from a tokenizer.json or from GGUF metadata and gives the ids that Python's tokenizers gives. Its
// model is byte-pair encoding; another kind is refused by name. A Stream turns generated ids into text as soon as the
// text is certain, byte-exact, and a StopMatcher ends it at stop ids and stop strings. A Template renders messages, tools
// and variables as transformers does.
//
// The package is pure Go, never runs a model, never reads the network, and holds no name of a model: what GGUF files call
// their pre-tokenisers is data (gguf.yaml).
package text
