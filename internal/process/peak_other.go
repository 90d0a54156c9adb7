//go:build !linux && !darwin

package process

func peak() int64 { return 0 }
