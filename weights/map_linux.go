package weights

import "golang.org/x/sys/unix"

// preferLargePages is a hint: a tensor is read end to end, and 2 MiB pages spare most faults and address look-ups.
func preferLargePages(data []byte) { _ = unix.Madvise(data, unix.MADV_HUGEPAGE) }

// drop unmaps pages of a mapped file, which count as the process's memory while they are mapped. They can still be read.
func drop(pages []byte) {
	if len(pages) > 0 {
		_ = unix.Madvise(pages, unix.MADV_DONTNEED)
	}
}

// populate reads a part of a mapped file into memory and maps its pages, and tells where that cannot be.
func populate(pages []byte) error {
	if err := unix.Madvise(pages, unix.MADV_POPULATE_READ); err != unix.EINVAL { // Linux before 5.14
		return err
	}
	return touch(pages)
}
