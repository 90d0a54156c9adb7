package engine

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/graphrun/graphrun/diag"
)

// ErrClosed is returned by an engine or session that was closed.
var ErrClosed = errors.New("the engine is closed")

// ErrStop, returned by the callback of Generate, ends the generation with reason "stop": a stop string was seen.
var ErrStop = errors.New("stop")

// OpError is an error of one operator, class or state, with its place in the graph and in the file.
type OpError struct {
	Path string     // model.layers.3.mlp
	At   diag.Range // the line that calls or declares it; may be no place
	Err  error
}

func (e *OpError) Error() string {
	switch {
	case e.At.IsZero() && e.Path == "":
		return e.Err.Error()
	case e.At.IsZero():
		return e.Path + ": " + e.Err.Error()
	case e.Path == "":
		return e.At.String() + ": " + e.Err.Error()
	}
	return e.Path + ": " + e.At.String() + ": " + e.Err.Error()
}

func (e *OpError) Unwrap() error { return e.Err }

func at(path string, where diag.Range, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Path: path, At: where, Err: err}
}

// guarded turns a panic of an operator into an error: nothing panics across the engine's border.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
