package native

import "github.com/graphrun/graphrun/mlx"

// RMSNorm is x * rsqrt(mean(x^2) + eps) * weight over the last axis in float32, rounded once; weight may be absent.
func (w *Workers) RMSNorm(s *mlx.Scope, x, weight mlx.Array, eps float32) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.rmsNorm(s, x, weight, eps)
}

// SwiGLU is silu(gate) * up in float32, rounded once.
func (w *Workers) SwiGLU(s *mlx.Scope, gate, up mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.swiglu(s, gate, up)
}

// LogSoftmax is x - log(sum(exp(x))) over the last axis in float32, rounded once.
func (w *Workers) LogSoftmax(s *mlx.Scope, x mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.logSoftmax(s, x)
}

// Likeliest is where the highest of LogSoftmax stands, uint32 [..] (the first of equals), and what it is.
func (w *Workers) Likeliest(s *mlx.Scope, x mlx.Array) (at, logprob mlx.Array) {
	if s.Err() != nil {
		return mlx.Array{}, mlx.Array{}
	}
	return w.likeliest(s, x)
}

// Rope rotates the first 2 len(rates) entries of x [B, heads, T, D]: those of row t by the angles (offset + t) * rates, in
// pairs (i, i + len(rates)) or neighbours. In float32, rounded once. offset is a position of the state of this number, see Chain.
func (w *Workers) Rope(s *mlx.Scope, x mlx.Array, rates []float32, neighbours bool, offset, state int) mlx.Array {
	if s.Err() != nil || len(rates) == 0 {
		return mlx.Array{}
	}
	return w.rope(s, x, rates, neighbours, offset, state)
}
