package ops

import (
	"math"
	"strings"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// scaling is config.json's rope map understood: which frequencies, and by what x and the positions are multiplied first.
type scaling struct {
	kind      string
	factor    float64
	positions float64 // multiplies positions
	gain      float64 // multiplies the rotated part of x

	lowFactor, highFactor, original float64   // llama3
	low, high                       float64   // yarn: where the ramp begins and ends
	long                            []float64 // longrope: one per pair, or one for all
	rotated                         int       // proportional
}

// scalingKinds are the known types and aliases of the scaling map.
var scalingKinds = map[string]string{
	"default": "default", "linear": "linear", "dynamic": "dynamic", "llama3": "llama3",
	"yarn": "yarn", "deepseek_yarn": "yarn", "telechat3-yarn": "yarn",
	"longrope": "longrope", "proportional": "proportional", "mrope": "mrope",
}

var scalingNames = []string{"default", "linear", "dynamic", "llama3", "yarn", "deepseek_yarn", "telechat3-yarn", "longrope",
	"proportional", "mrope"}

// parseScaling reads the parameters of rope. Defaults are mlx-lm's (initialize_rope); a key that has none is asked for.
func parseScaling(args plan.Args) (scaling, error) {
	m := scalingMap{args.Map("scaling"), nil}
	name := m.text("type", m.text("rope_type", "default"))
	kind, ok := scalingKinds[name]
	if !ok {
		err := &registry.ArgError{Arg: "scaling", Message: "rope type '" + name + "' is not known; known: " + strings.Join(scalingNames, ", ")}
		if near := diag.Nearest(name, scalingNames); near != "" {
			err.Help = "did you mean " + near + "?"
		}
		return scaling{}, err
	}
	sc := scaling{kind: kind, factor: 1, positions: 1, gain: 1}
	dims, longest := args.Int("dims"), args.Int("max_position")
	switch kind {
	case "linear":
		sc.factor = m.positive("factor")
		sc.positions = 1 / sc.factor
	case "dynamic":
		sc.factor = m.positive("factor")
		m.needsMaxPosition(longest, kind)
		if dims == 2 {
			return sc, registry.Wrong("dims", "2 is too few for dynamic scaling, whose exponent is dims / (dims - 2)")
		}
	case "llama3":
		sc.factor = m.positive("factor")
		sc.lowFactor = m.positiveOr("low_freq_factor", 1)
		sc.highFactor = m.positiveOr("high_freq_factor", 4)
		sc.original = m.positiveOr("original_max_position_embeddings", 8192)
	case "yarn":
		m.yarn(&sc, dims, args.Float("base"))
	case "longrope":
		m.longrope(&sc, dims, longest)
	case "proportional":
		sc.factor = m.positiveOr("factor", 1)
		sc.rotated = int(float64(dims) * m.positiveOr("partial_rotary_factor", 1))
		if m.err == nil && (sc.rotated <= 0 || sc.rotated > dims || sc.rotated%2 != 0) {
			m.wrong("partial_rotary_factor %s of %d dims is %d; an even number from 2 to %d is wanted",
				m.get("partial_rotary_factor").Text(), dims, sc.rotated, dims)
		}
	case "mrope":
		if n := len(m.get("mrope_section").List); n != 3 {
			m.wrong("mrope_section has %s; 3 are wanted (time, height, width)", count(n, "entry", "entries"))
		}
	}
	return sc, m.err
}

func (m *scalingMap) yarn(sc *scaling, dims int, base float64) {
	sc.factor = m.positive("factor")
	original := m.positiveOr("original_max_position_embeddings", 4096)
	fast, slow := m.positiveOr("beta_fast", 32), m.positiveOr("beta_slow", 1)
	mscale, mscaleAll := m.numberOr("mscale", 1), m.numberOr("mscale_all_dim", 0)
	if m.err != nil {
		return
	}
	if base == 1 {
		m.err = registry.Wrong("base", "1 has no logarithm to divide by, as yarn does")
		return
	}
	dim := func(rotations float64) float64 {
		return float64(dims) * math.Log(original/(rotations*2*math.Pi)) / (2 * math.Log(base))
	}
	sc.low = math.Max(math.Floor(dim(fast)), 0)
	sc.high = math.Min(math.Ceil(dim(slow)), float64(dims-1))
	if sc.low == sc.high {
		sc.high += 0.001 // mlx-lm's: no division by zero
	}
	sc.gain = yarnGain(sc.factor, mscale) / yarnGain(sc.factor, mscaleAll)
}

// yarnGain is get_mscale of the YaRN paper (Peng et al. 2023, eq. 22).
func yarnGain(factor, mscale float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 0.1*mscale*math.Log(factor) + 1
}

func (m *scalingMap) longrope(sc *scaling, dims, longest int) {
	original := m.positive("original_max_position_embeddings")
	m.needsMaxPosition(longest, "longrope")
	switch v := m.get("long_factor"); v.Kind {
	case plan.List:
		for _, x := range v.List {
			f, ok := x.Number()
			if !ok {
				m.wrong("long_factor holds %s; numbers are wanted", x.Text())
			}
			sc.long = append(sc.long, f)
		}
		if len(sc.long) != dims/2 {
			m.wrong("long_factor has %s; dims / 2 = %d are wanted", count(len(sc.long), "number", "numbers"), dims/2)
		}
	default:
		sc.long = []float64{m.positive("long_factor")}
	}
	if m.err != nil {
		return
	}
	if factor := float64(longest) / original; factor > 1 {
		if original == 1 {
			m.wrong("original_max_position_embeddings is 1, whose logarithm divides nothing")
			return
		}
		sc.gain = math.Sqrt(1 + math.Log(factor)/math.Log(original))
	}
}

// scalingMap reads keys; the first thing wrong stays in err. A null is as if absent.
type scalingMap struct {
	v   plan.Value
	err error
}

func (m *scalingMap) get(key string) plan.Value {
	v, _ := m.v.Get(key)
	return v
}

func (m *scalingMap) wrong(format string, args ...any) {
	if m.err == nil {
		m.err = registry.Wrong("scaling", format, args...)
	}
}

func (m *scalingMap) text(key, otherwise string) string {
	switch v := m.get(key); v.Kind {
	case plan.Nothing:
		return otherwise
	case plan.String:
		return v.Str
	default:
		m.wrong("%s is %s; a name is wanted", key, v.Text())
		return otherwise
	}
}

func (m *scalingMap) numberOr(key string, otherwise float64) float64 {
	v := m.get(key)
	if v.Kind == plan.Nothing {
		return otherwise
	}
	f, ok := v.Number()
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		m.wrong("%s is %s; a number is wanted", key, v.Text())
		return otherwise
	}
	return f
}

func (m *scalingMap) positiveOr(key string, otherwise float64) float64 {
	f := m.numberOr(key, otherwise)
	if f <= 0 {
		m.wrong("%s is %v; a positive number is wanted", key, f)
	}
	return f
}

func (m *scalingMap) positive(key string) float64 {
	if m.get(key).Kind == plan.Nothing {
		m.wrong("the map has no %s, which rope type '%s' needs; it has %s", key, m.text("type", m.text("rope_type", "default")), m.keys())
		return 1
	}
	return m.positiveOr(key, 1)
}

func (m *scalingMap) needsMaxPosition(longest int, kind string) {
	if longest <= 0 && m.err == nil {
		m.err = registry.Wrong("max_position", "is %d; rope type '%s' needs the model's max_position_embeddings", longest, kind)
	}
}

func (m *scalingMap) keys() string {
	names := make([]string, len(m.v.Map))
	for i, e := range m.v.Map {
		names[i] = e.Key
	}
	return strings.Join(names, ", ")
}
