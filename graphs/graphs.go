// Package graphs holds the shipped graph files: models, and the blocks they are made of.
package graphs

import "embed"

// Files has models/ and blocks/.
//
//go:embed models/*.yaml blocks/*.yaml
var Files embed.FS
