package mlx

import (
	"errors"
	"regexp"
)

// ErrNoMLX is what every call gives in a build without MLX.
var ErrNoMLX = errors.New("this build has no MLX; build it with `make build` (or, after `make setup`, " +
	"PKG_CONFIG_PATH=.deps/lib/pkgconfig CGO_ENABLED=1 go build -tags mlx ./cmd/graphrun)")

// Error is an error of MLX.
type Error struct {
	Op      string // the operation, as the headers name it: quantized_matmul
	Message string // MLX's own words
}

func (e *Error) Error() string { return e.Op + ": " + e.Message }

// mlx-c ends each message with the place in its own source that passed it on.
var sourceNote = regexp.MustCompile(` at \S+\.(cpp|h|cc):\d+$`)

func newError(op, message string) *Error {
	return &Error{Op: op, Message: sourceNote.ReplaceAllString(message, "")}
}
