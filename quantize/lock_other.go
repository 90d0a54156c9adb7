//go:build !unix

package quantize

const lockName = ".lock"

func lockFolder(string) (func(), error) { return func() {}, nil }
