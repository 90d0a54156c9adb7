package adapter

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/graphrun/graphrun/weights/header"
)

// Forms of adapters.
const (
	MLX  = "mlx-lm"
	PEFT = "peft"
)

// defaultScale is mlx-lm's, where its settings name none.
const defaultScale = 20

// settings say how factors are scaled.
type settings struct {
	form  string
	scale float64 // of mlx-lm
	alpha float64 // of PEFT
	rank  int     // 0: not said
	root  bool    // rank-stabilised: by the rank's square root
	// alphas and ranks are PEFT's exceptions by module.
	alphas, ranks []exception
}

// exception is a value for the modules whose path, or the end of it, a pattern matches.
type exception struct {
	pattern *regexp.Regexp
	value   float64
}

// scaleOf is what a module's product is multiplied by.
func (s *settings) scaleOf(module string, rank int) float64 {
	r := float64(rank)
	if s.form == MLX {
		if s.root {
			return s.scale / math.Sqrt(r)
		}
		return s.scale
	}
	alpha := s.alpha
	if v, ok := exceptionFor(s.alphas, module); ok {
		alpha = v
	}
	if s.root {
		return alpha / math.Sqrt(r)
	}
	return alpha / r
}

// rankOf is the rank that the settings promise a module; 0: none.
func (s *settings) rankOf(module string) int {
	if v, ok := exceptionFor(s.ranks, module); ok {
		return int(v)
	}
	return s.rank
}

func exceptionFor(list []exception, module string) (float64, bool) {
	for _, e := range list {
		if e.pattern.MatchString(module) {
			return e.value, true
		}
	}
	return 0, false
}

// reader reads settings, and gathers what is wrong.
type reader struct {
	problems []Problem
}

func (r *reader) problem(key, help, text string, args ...any) {
	r.problems = append(r.problems, Problem{Key: key, Text: fmt.Sprintf(text, args...), Help: help})
}

// settings reads a configuration of either form.
func (r *reader) settings(c *header.Config) *settings {
	v := c.Values
	switch {
	case v["lora_parameters"] != nil || v["fine_tune_type"] != nil:
		return r.mlx(v)
	case v["peft_type"] != nil || v["r"] != nil || v["lora_alpha"] != nil:
		return r.peft(v)
	}
	r.problem("", "mlx-lm writes lora_parameters, PEFT writes peft_type, r and lora_alpha", "%s says nothing of an adapter", c.Path)
	return nil
}

func (r *reader) mlx(v map[string]any) *settings {
	s := &settings{form: MLX, scale: defaultScale}
	switch t := v["fine_tune_type"]; t {
	case nil, "lora":
	case "dora":
		r.problem("fine_tune_type", "train with fine_tune_type lora", "DoRA adapters are not supported")
	case "full":
		r.problem("fine_tune_type", "open the tuned checkpoint itself", "the folder holds whole weights, no adapter")
	default:
		r.problem("fine_tune_type", "it is lora", "%v is no kind of adapter that is known", t)
	}
	p, ok := v["lora_parameters"].(map[string]any)
	if !ok {
		r.problem("lora_parameters", "write {rank: 8, scale: 20.0}", "a map with rank and scale is wanted")
		return s
	}
	if p["scale"] == nil && p["alpha"] != nil {
		r.problem("lora_parameters.alpha", "write scale, what the product is multiplied by", "mlx-lm's adapters have a scale, no alpha")
	}
	s.scale = r.number(p, "lora_parameters.", "scale", s.scale)
	s.rank = r.rank(p, "lora_parameters.", "rank")
	s.root = r.truth(p, "lora_parameters.", "rs_lora")
	return s
}

func (r *reader) peft(v map[string]any) *settings {
	s := &settings{form: PEFT}
	if t := v["peft_type"]; t != nil && t != "LORA" {
		r.problem("peft_type", "LORA is supported", "%v is no LoRA adapter", t)
	}
	if r.truth(v, "", "use_dora") {
		r.problem("use_dora", "train with use_dora: false", "DoRA adapters are not supported")
	}
	if b := v["bias"]; b != nil && b != "none" {
		r.problem("bias", "train with bias: none", "adapters that change biases (%v) are not supported", b)
	}
	if r.truth(v, "", "lora_bias") {
		r.problem("lora_bias", "train with lora_bias: false", "factors with a bias are not supported")
	}
	if list, _ := v["modules_to_save"].([]any); len(list) > 0 {
		r.problem("modules_to_save", "merge these modules into the checkpoint", "whole modules beside the factors are not supported: %v", list)
	}
	s.rank = r.rank(v, "", "r")
	if s.rank == 0 {
		s.rank = 8
	}
	s.alpha = r.number(v, "", "lora_alpha", 16)
	s.root = r.truth(v, "", "use_rslora")
	s.alphas = r.exceptions(v, "alpha_pattern")
	s.ranks = r.exceptions(v, "rank_pattern")
	return s
}

// exceptions reads a map from patterns over the ends of modules' paths to numbers, the longest patterns first.
func (r *reader) exceptions(v map[string]any, key string) []exception {
	m, ok := v[key].(map[string]any)
	if !ok {
		if v[key] != nil {
			r.problem(key, "", "a map from modules to numbers is wanted")
		}
		return nil
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return slices.Compare([]byte(a), []byte(b))
	})
	var out []exception
	for _, name := range names {
		p, err := regexp.Compile(`^(?:.*\.)?(?:` + name + `)$`)
		if err != nil {
			r.problem(key+"."+name, "", "is no pattern: %v", err)
			continue
		}
		out = append(out, exception{p, r.number(m, key+".", name, 0)})
	}
	return out
}

func (r *reader) number(m map[string]any, above, key string, otherwise float64) float64 {
	out := otherwise
	switch v := m[key].(type) {
	case nil:
	case int64:
		out = float64(v)
	case float64:
		out = v
	default:
		r.problem(above+key, "", "%v is no number", v)
	}
	if math.IsNaN(out) || math.IsInf(out, 0) {
		r.problem(above+key, "", "%v is no finite number", out)
	}
	return out
}

// maxRank bounds ranks: more than any matrix has.
const maxRank = 1 << 20

func (r *reader) rank(m map[string]any, above, key string) int {
	v := r.number(m, above, key, 0)
	if m[key] != nil && (v < 1 || v > maxRank || v != math.Trunc(v)) {
		r.problem(above+key, "", "%v is no rank: a whole number from 1 up is wanted", m[key])
		return 0
	}
	return int(v)
}

func (r *reader) truth(m map[string]any, above, key string) bool {
	switch v := m[key].(type) {
	case nil:
		return false
	case bool:
		return v
	default:
		r.problem(above+key, "", "%v is neither true nor false", v)
		return false
	}
}
