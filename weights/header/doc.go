// Package header reads what a checkpoint says of itself before one weight is opened: config.json, the headers of
// safetensors files and their index, the metadata and tensor table of a GGUF file, the quantization table.
//
// Everything is checked here, so that what the package returns is consistent: ranges lie in the file and do not overlap,
// sizes follow from shapes and element types, names are unique, shards are where the index says and inside the folder.
// Files are material of strangers: counts are never trusted for an allocation, a bad file is an error that says which
// file, which tensor and why. The package needs no MLX and no cgo. It never reads tensor data (one small tensor of a GGUF
// file excepted, which is metadata in disguise), never writes, and knows no model: what a GGUF file calls a thing and
// what the rest of the program calls it is data, in gguf/*.yaml.
package header
