package ops

import (
	"fmt"
	"reflect"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// attendJoint is what one kernel computes around attend: the views that make heads of a projection's rows, norms of heads and
// rotary positions before, the merge of the heads after.
func attendJoint() *registry.Joint {
	turned := []string{"rope", "rms_norm", "swap_heads", "rms_norm", "split_heads"}
	return &registry.Joint{
		Before:   [][]string{turned, turned, {"swap_heads", "split_heads"}},
		After:    "merge_heads",
		Accept:   func(j *registry.Joined) bool { _, ok := attendStepOf(j); return ok },
		Build:    buildAttendStep,
		Numerics: "the bits of the native operators one by one; of single steps over a window's ring the bound of native attend",
	}
}

// attendStep is attend with what stands around it, understood.
type attendStep struct {
	layout  [3]int
	norms   [2]*plan.Call // of q and k; nil: none
	gains   [2]int        // operands; -1: none
	rope    *plan.Call    // of q, and like it of k; nil: none
	window  bool
	inputs  int // attend's own
	operand int // the next of what is taken in
}

// attendStepOf tells whether the kernel serves what was found.
func attendStepOf(j *registry.Joined) (attendStep, bool) {
	s := attendStep{gains: [2]int{-1, -1}, inputs: len(j.Call.In), operand: len(j.Call.In)}
	in := j.Call.In
	given := func(i int) bool { return i < len(in) && in[i].Kind != plan.FromNothing }
	if j.State == nil || j.State.Kind != "cache" || j.State.Bits > 0 || j.Call.Read > 0 || !given(1) || given(3) || given(4) ||
		j.Call.Args.Has("causal") && !j.Call.Args.Bool("causal") || in[1].Type.Dtype != in[2].Type.Dtype {
		return s, false
	}
	g, err := newGeometry(*j.State)
	// Over a ring the step writes where old positions stood, which nobody else may still want.
	if err != nil || g.valueDim == 0 || g.chunk > 0 || g.window > 0 && !j.Alone {
		return s, false
	}
	s.window = g.window > 0
	ropes := [2]*plan.Call{}
	for i, chain := range j.Before {
		swapped := false
		for _, c := range chain {
			switch c.Operator {
			case "rope":
				if len(c.In) > 2 && c.In[2].Kind != plan.FromNothing || c.In[1].Index != j.Call.State || len(c.In[0].Type.Shape) != 4 {
					return s, false
				}
				ropes[i] = c
			case "rms_norm":
				if s.norms[i] != nil {
					return s, false
				}
				if s.norms[i] = c; len(c.In) > 1 && c.In[1].Kind != plan.FromNothing {
					s.gains[i] = s.operand
				}
			case "swap_heads":
				s.layout[i], swapped = native.HeadsLast, true
			case "split_heads":
				if !swapped {
					return s, false
				}
				s.layout[i] = c.Args.Int("count")
			}
			s.operand += len(c.In) - 1
		}
	}
	if s.rope = ropes[0]; (ropes[0] == nil) != (ropes[1] == nil) || s.rope != nil && !reflect.DeepEqual(ropes[0].Args, ropes[1].Args) {
		return s, false
	}
	if s.rope != nil {
		if sc, err := parseScaling(s.rope.Args); err != nil || sc.gain != 1 || sc.kind == "dynamic" {
			return s, false
		}
	}
	return s, true
}

func buildAttendStep(j *registry.Joined, b *registry.Build) (registry.Run, error) {
	s, ok := attendStepOf(j)
	if !ok {
		return nil, fmt.Errorf("what stands around attend is not served")
	}
	a := &native.Attention{Workers: b.Workers, Scale: float32(j.Call.Args.Float("scale")), State: b.State, Layout: s.layout, Merged: j.After != nil}
	for i, n := range []*native.HeadNorm{&a.Q, &a.K} {
		if c := s.norms[i]; c != nil {
			n.On, n.Eps = true, float32(c.Args.Float("eps"))
		}
	}
	if s.rope != nil {
		sc, err := parseScaling(s.rope.Args)
		if err != nil {
			return nil, err
		}
		turn := *b
		turn.Args = s.rope.Args
		if a.Rates, err = sc.rates(&turn); err != nil {
			return nil, err
		}
		a.Neighbours = sc.neighbours(s.rope.Args)
	}
	single, err := s.single(j)
	if err != nil {
		return nil, err
	}
	state := b.State
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		step := *a
		for i, n := range []*native.HeadNorm{&step.Q, &step.K} {
			if s.gains[i] >= 0 {
				n.Gain = in[s.gains[i]]
			}
		}
		switch cache := c.States[state].(type) {
		case *fullCache:
			return []mlx.Array{cache.attend(c, &step, in[0], in[1], in[2])}
		case *rotatingCache:
			if c.T == 1 {
				return []mlx.Array{cache.attend(c, &step, in[0], in[1], in[2])}
			}
			return single(c, in)
		}
		c.Fail(fmt.Errorf("the state is no cache of keys and values but %T", c.States[state]))
		return []mlx.Array{{}}
	}, nil
}

// single runs the calls one by one: for the steps of several positions over a ring.
func (s *attendStep) single(j *registry.Joined) (registry.Run, error) {
	if !s.window {
		return nil, nil
	}
	type link struct {
		run registry.Run
		in  int // operand after the first
		n   int
	}
	var chains [3][]link // in the order that they run
	at := s.inputs
	for i, chain := range j.Before {
		for _, c := range chain {
			run, err := j.Single(c)
			if err != nil {
				return nil, err
			}
			chains[i] = append([]link{{run, at, len(c.In) - 1}}, chains[i]...)
			at += len(c.In) - 1
		}
	}
	attend, err := j.Single(j.Call)
	if err != nil {
		return nil, err
	}
	after := func(_ *registry.Call, in []mlx.Array) []mlx.Array { return in }
	if j.After != nil {
		if after, err = j.Single(j.After); err != nil {
			return nil, err
		}
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		own := append([]mlx.Array(nil), in[:s.inputs]...)
		for i, chain := range chains {
			for _, l := range chain {
				own[i] = l.run(c, append([]mlx.Array{own[i]}, in[l.in:l.in+l.n]...))[0]
			}
		}
		return after(c, attend(c, own))
	}, nil
}

// attend appends and reads in one call. It writes into the buffers' own memory though a step that is still running may read
// them. That is right because a cache's buffers are its own (grown makes them), each array that was taken from them shows
// positions before offset alone, and forwards run one after another on one stream.
func (c *fullCache) attend(call *registry.Call, a *native.Attention, q, k, v mlx.Array) mlx.Array {
	s, n := call.Scope, k.Dim(positionsAxis(a.Layout[1]))
	ofKeys, ofValues := c.rows(k, v, a.K)
	keys, values := c.room(s, ofKeys, ofValues, n)
	y, keys, values := a.Append(s, q, k, v, keys, values, c.place())
	if !c.hold(s, keys, values) {
		return mlx.Array{}
	}
	c.offset += n
	return y
}

func (c *fullCache) place() native.Place {
	return native.Place{Position: c.start, At: c.offset, Seen: c.offset + 1}
}

// InPlace and Take are those of registry.InPlace.
func (c *fullCache) InPlace() (int, bool) {
	return c.held, c.keys.Valid() && c.offset < c.keys.Dim(2)
}

func (c *fullCache) Take() native.Place {
	p := c.place()
	c.offset++
	return p
}

// attend appends one position. It writes over the oldest, in the buffers' own memory: see fullCache; of the older arrays
// that show what is overwritten none is read after this step, as the joint's Accept makes sure.
func (c *rotatingCache) attend(call *registry.Call, a *native.Attention, q, k, v mlx.Array) mlx.Array {
	s := call.Scope
	ofKeys, ofValues := c.rows(k, v, a.K)
	keys, values, at := c.room(s, ofKeys, ofValues)
	if !c.straight { // after several positions they are the projections' own arrays
		keys, values = s.Contiguous(keys, false), s.Contiguous(values, false)
	}
	y, keys, values := a.Append(s, q, k, v, keys, values, c.place(at, keys.Dim(2)))
	if !c.hold(s, keys, values) {
		return mlx.Array{}
	}
	c.offset++
	c.index, c.straight = at+1, true
	return y
}

// place is that of the next position, in buffers of a size.
func (c *rotatingCache) place(at, size int) native.Place {
	return native.Place{Position: c.start, At: at, Seen: min(c.offset+1, size)}
}

func (c *rotatingCache) InPlace() (int, bool) {
	size := c.keys.Dim(2)
	return c.held, c.keys.Valid() && c.straight && size <= c.window && (c.offset < size || size == c.window)
}

func (c *rotatingCache) Take() native.Place {
	at := c.index
	if at == c.window {
		at = 0
	}
	p := c.place(at, c.keys.Dim(2))
	c.offset++
	c.index = at + 1
	return p
}

// positionsAxis is the axis of T in a layout.
func positionsAxis(layout int) int {
	if layout == native.HeadsFirst {
		return 2
	}
	return 1
}

// rows is what the cache keeps of keys and values in any layout, the keys after a norm.
func (c *kvArrays) rows(k, v mlx.Array, norm native.HeadNorm) (keys, values cacheRows) {
	c.wide = [2]mlx.Dtype{k.Dtype(), v.Dtype()}
	if norm.On && norm.Gain.Valid() {
		c.wide[0] = dtype.Promote(k.Dtype(), norm.Gain.Dtype())
	}
	keys = cacheRows{batch: k.Dim(0), heads: c.heads, dim: c.dim, dtype: c.holds(c.wide[0])}
	values = cacheRows{batch: k.Dim(0), heads: c.heads, dim: c.valueDim, dtype: c.holds(c.wide[1])}
	return keys, values
}
