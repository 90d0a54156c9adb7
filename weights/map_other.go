//go:build !unix

package weights

import (
	"errors"
	"os"
)

var errNoMapping = errors.New("files cannot be mapped on this system")

func mapFile(*os.File, int64) ([]byte, func([]byte) error, error) { return nil, nil, errNoMapping }

func allocate(int) ([]byte, func([]byte) error, error) { return nil, nil, errNoMapping }

func populate([]byte) error { return errNoMapping }

func drop([]byte) {}
