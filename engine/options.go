package engine

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Defaults of mlx-lm 0.32.2.
const (
	DefaultPrefillStep       = 2048
	DefaultRepetitionContext = 20
	DefaultXTCThreshold      = 0.1
)

// GenOptions are the settings of one generation. The zero value is greedy without an end.
type GenOptions struct {
	MaxTokens    int     // 0: no limit
	StopIDs      []int32 // tokens that end the text
	ContextLimit int     // positions of the session, earlier turns included; 0: no limit
	PrefillStep  int     // prompt tokens per forward; 0: DefaultPrefillStep

	// Sampling, in mlx-lm's order. Temperature 0 is greedy and asks none of the others.
	Temperature  float64
	TopP         float64 // in (0, 1): the smallest set of tokens with this probability; 0 or 1: all
	MinP         float64 // in (0, 1]: tokens at least this likely beside the likeliest; 0: all
	MinKeep      int     // tokens that min-p keeps in any case; 0: 1
	TopK         int     // the k likeliest; 0: all
	XTCChance    float64 // in [0, 1]: how often all but the least likely token above XTCThreshold are dropped
	XTCThreshold float64 // in [0, 0.5]; 0: DefaultXTCThreshold
	XTCSpecial   []int32 // tokens that XTC never drops
	Seed         uint64  // the same seed gives mlx-lm's tokens after mx.random.seed(seed)

	// Penalties on the logits of tokens seen lately, prompt included; they also hold at temperature 0.
	RepetitionPenalty float64           // logits below 0 are multiplied by it, others divided; 0 or 1: none
	PresencePenalty   float64           // subtracted once from each token seen
	FrequencyPenalty  float64           // subtracted for every time that a token was seen
	LogitBias         map[int32]float64 // added to the logits of these tokens
	RepetitionContext int               // how many tokens back the penalties look; 0: DefaultRepetitionContext

	// OnProgress is told the prompt tokens processed, first 0, at the end all.
	OnProgress func(done, total int)
}

// Token is one generated token.
type Token struct {
	ID      int32
	Logprob float32 // natural logarithm of its probability before temperature and filters
}

// Reason says why a generation ended.
type Reason string

const (
	Stopped   Reason = "stop"      // a stop token, or ErrStop from the callback
	Length    Reason = "length"    // MaxTokens
	Cancelled Reason = "cancelled" // the context was cancelled
	Full      Reason = "context"   // ContextLimit
)

// Stats are what a generation did. Seconds are wall-clock.
type Stats struct {
	PromptTokens       int     `json:"prompt_tokens"`
	PromptSeconds      float64 `json:"prompt_seconds"` // up to the first token, as mlx-lm counts
	FirstTokenSeconds  float64 `json:"first_token_seconds"`
	GeneratedTokens    int     `json:"generated_tokens"` // a stop token counts
	DecodeSeconds      float64 `json:"decode_seconds"`   // after the first token
	PeakMemory         int64   `json:"peak_memory"`      // bytes that MLX held at once
	Reason             Reason  `json:"reason"`
	StopID             int32   `json:"stop_id"` // the token that ended it; -1: none
	PromptTokensPerSec float64 `json:"prompt_tps"`
	DecodeTokensPerSec float64 `json:"decode_tps"` // of the tokens after the first, which DecodeSeconds covers
	// SteadyTokensPerSec is of the tokens after the second. The step after the first token may have run before that token was
	// read, or not: programs whose figures are compared differ there.
	SteadyTokensPerSec float64 `json:"steady_tps"`
	// StepNodes are the calls of MLX's primitives in a step of one token, its draw included, a recorded run (chain.go) as
	// one; 0 where there was no step. They are counted at the first step that runs recorded, or where none does at the first.
	// StepChains are the recorded runs, StepRecorded the primitives in them.
	StepNodes    int `json:"step_nodes"`
	StepChains   int `json:"step_chains"`
	StepRecorded int `json:"step_recorded"`
}

// clock fills the seconds of a Stats.
type clock struct {
	start, first, second time.Time
}

func (c *clock) finish(s *Stats) {
	if c.first.IsZero() {
		s.PromptSeconds = time.Since(c.start).Seconds()
		return
	}
	s.FirstTokenSeconds = c.first.Sub(c.start).Seconds()
	s.PromptSeconds = s.FirstTokenSeconds
	s.DecodeSeconds = time.Since(c.first).Seconds()
	if s.PromptSeconds > 0 {
		s.PromptTokensPerSec = float64(s.PromptTokens) / s.PromptSeconds
	}
	if s.DecodeSeconds > 0 && s.GeneratedTokens > 1 {
		s.DecodeTokensPerSec = float64(s.GeneratedTokens-1) / s.DecodeSeconds
	}
	if steady := time.Since(c.second).Seconds(); s.GeneratedTokens > 2 && steady > 0 {
		s.SteadyTokensPerSec = float64(s.GeneratedTokens-2) / steady
	}
}

// Check says every setting that is out of its range, as Generate would.
func (o GenOptions) Check() error {
	_, err := o.filled()
	return err
}

// filled gives the options with their defaults, or says every setting that is out of its range.
func (o GenOptions) filled() (GenOptions, error) {
	if o.PrefillStep == 0 {
		o.PrefillStep = DefaultPrefillStep
	}
	if o.RepetitionContext == 0 {
		o.RepetitionContext = DefaultRepetitionContext
	}
	if o.XTCThreshold == 0 {
		o.XTCThreshold = DefaultXTCThreshold
	}
	if o.RepetitionPenalty == 1 {
		o.RepetitionPenalty = 0
	}
	var wrong []string
	need := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	need(o.MaxTokens >= 0, "max tokens %d is negative", o.MaxTokens)
	need(o.ContextLimit >= 0, "context limit %d is negative", o.ContextLimit)
	need(o.PrefillStep > 0, "prefill step %d is not positive", o.PrefillStep)
	need(o.RepetitionContext > 0, "repetition context %d is not positive", o.RepetitionContext)
	need(finite(o.Temperature) && o.Temperature >= 0, "temperature %v is not 0 or more", o.Temperature)
	need(o.TopP >= 0 && o.TopP <= 1, "top-p %v is not in [0, 1]", o.TopP)
	need(o.MinP >= 0 && o.MinP <= 1, "min-p %v is not in [0, 1]", o.MinP)
	need(o.MinKeep >= 0, "min keep %d is negative", o.MinKeep)
	need(o.TopK >= 0, "top-k %d is negative", o.TopK)
	need(o.XTCChance >= 0 && o.XTCChance <= 1, "XTC chance %v is not in [0, 1]", o.XTCChance)
	need(o.XTCThreshold >= 0 && o.XTCThreshold <= 0.5, "XTC threshold %v is not in [0, 0.5]", o.XTCThreshold)
	need(finite(o.RepetitionPenalty) && o.RepetitionPenalty >= 0, "repetition penalty %v is not 0 or more", o.RepetitionPenalty)
	need(finite(o.PresencePenalty), "presence penalty %v is not finite", o.PresencePenalty)
	need(finite(o.FrequencyPenalty), "frequency penalty %v is not finite", o.FrequencyPenalty)
	if wrong != nil {
		return o, fmt.Errorf("generation: %s", strings.Join(wrong, "; "))
	}
	return o, nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
