// Package graphs holds the shipped graph files: models, the blocks they are made of, variants and rules.
package graphs

import "embed"

// Files has models/, blocks/, variants/ and rules/.
//
//go:embed models/*.yaml models/examples/*.json blocks/*.yaml variants/*.yaml variants/examples/*.json rules/*.yaml
var Files embed.FS
