//go:build cgo && mlx

package pooltest

/*
#cgo CXXFLAGS: -std=c++20 -O2 -Wall -Wextra
#include <stdlib.h>
#include "pooltest.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	_ "github.com/graphrun/graphrun/mlx/native" // whose files are compiled here again: when they change, so must this
)

// Jobs runs jobs of 0 to most pieces on a pool of threads and tells of a piece that was not done once, or of another job.
func Jobs(threads, jobs, most int) error {
	return told(C.pt_jobs(C.int(threads), C.int(jobs), C.int(most)))
}

// Ends starts pools and ends them: before a job, right after one, and once their workers sleep.
func Ends(threads, pools int) error { return told(C.pt_ends(C.int(threads), C.int(pools))) }

// Scratch looks at the memory that a pool lends.
func Scratch() error { return told(C.pt_scratch()) }

func told(err *C.char) error {
	if err == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(err))
	return errors.New(C.GoString(err))
}
