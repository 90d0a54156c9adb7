//go:build unix && !linux

package weights

func preferLargePages([]byte) {}

func populate(pages []byte) error { return touch(pages) }

func drop([]byte) {}
