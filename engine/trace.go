package engine

import (
	"context"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
)

// Node is one result of a call.
type Node struct {
	Call   *plan.Call
	Result int // which of the call's
	Value  Tensor
}

// Trace is Forward that also gives away what every call results in, in the order of the program; calls that ran when the
// engine opened come first. Each value is computed and copied by itself, so it is slow and gives buffers no chance to
// be reused; the numbers are those of Forward. An error of tap ends it and comes back.
func (s *Session) Trace(ctx context.Context, in Inputs, tap func(Node) error, outputs ...string) (map[string]Tensor, error) {
	var out map[string]Tensor
	err := s.alone(func() error {
		return s.engine.do(func() (err error) {
			s.tap = func(c *plan.Call, results []mlx.Array) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				for i, r := range results {
					v, err := tensorOf(r)
					if err == nil {
						err = tap(Node{c, i, v})
					}
					if err != nil {
						return err
					}
				}
				return nil
			}
			defer func() { s.tap = nil }()
			out, err = s.forwardNow(in, outputs)
			return err
		})
	})
	return out, err
}
