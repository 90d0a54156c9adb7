package adapter

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// Adapter is what a folder holds, fitted to a plan.
type Adapter struct {
	Path       string
	Form       string // mlx-lm, peft
	Checkpoint *header.Checkpoint
	Factors    []Factor // sorted by path
}

// Factor is the pair of one weight. While the adapter is active the product y = x W^T becomes
// y + (Scale * ((x @ A) @ B)), the sum in the dtype of x (mlx_lm/tuner/lora.py, LoRALinear).
type Factor struct {
	Path   string       // of the weight
	Weight int          // index into Plan.Weights
	A      *view.Recipe // [inputs, rank]
	B      *view.Recipe // [rank, outputs]
	Rank   int
	Scale  float64
}

// Bytes is the memory that the factors take.
func (a *Adapter) Bytes() int64 {
	n := int64(0)
	for _, f := range a.Factors {
		n += f.A.Bytes() + f.B.Bytes()
	}
	return n
}

// Problem is one thing that is wrong with an adapter.
type Problem struct {
	Key  string // of the settings, or the name of a tensor; "" of the whole
	Text string
	Help string // what to write, or the nearest that would be right
}

func (p Problem) String() string {
	s := p.Text
	if p.Key != "" {
		s = p.Key + ": " + s
	}
	if p.Help != "" {
		s += "; " + p.Help
	}
	return s
}

// Error is everything that is wrong with one adapter.
type Error struct {
	Path     string
	Problems []Problem
}

// shown is how many problems an error's text lists; a mistake repeats itself for each layer.
const shown = 12

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "adapter %s cannot be mounted", e.Path)
	if len(e.Problems) == 1 {
		return b.String() + ": " + e.Problems[0].String()
	}
	fmt.Fprintf(&b, ", %d things are wrong:", len(e.Problems))
	for i, p := range e.Problems {
		if i == shown {
			fmt.Fprintf(&b, "\n  … and %d more", len(e.Problems)-shown)
			break
		}
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}
