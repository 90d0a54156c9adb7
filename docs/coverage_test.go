package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
)

// settingsTable is tools/oracle/models/NAME.yaml; tools/oracle/README.md describes it.
type settingsTable struct {
	model    string
	Graph    string                    `yaml:"graph"`
	Config   map[string]any            `yaml:"config"`
	Configs  map[string]map[string]any `yaml:"configs"`
	Settings yaml.Node                 `yaml:"settings"`
	Entries  map[string]string         `yaml:"entries"` // how entries but text are compared
	Missing  []string                  `yaml:"missing"`
	settings []setting
}

type setting struct {
	name         string
	Of           string         `yaml:"of"`
	Config       map[string]any `yaml:"config"`
	Without      []string       `yaml:"without"`
	Shows        string         `yaml:"shows"`
	Dtype        string         `yaml:"dtype"`
	Norms        string         `yaml:"norms"`
	Layout       string         `yaml:"layout"`
	Quantisation *struct {
		Bits      int            `yaml:"bits"`
		Group     int            `yaml:"group"`
		Mode      string         `yaml:"mode"`
		Overrides map[string]any `yaml:"overrides"`
		Only      string         `yaml:"only"`
	} `yaml:"quantisation"`
}

// stored says in which dtype or quantisation a setting's checkpoint is.
func (s *setting) stored() string {
	dense := or(s.Dtype, "bfloat16")
	if s.Norms != "" {
		dense += ", norms " + s.Norms
	}
	q := s.Quantisation
	if q == nil {
		return dense
	}
	text := fmt.Sprintf("%d bits, groups of %d", or(q.Bits, 4), or(q.Group, 64))
	if q.Mode != "" {
		text = q.Mode
	}
	if q.Only != "" {
		text += " (the experts)"
	}
	if q.Overrides != nil {
		text += ", other per module"
	}
	if dense != "bfloat16" {
		text += "; " + dense
	}
	return text
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// config is what the setting's config.json holds.
func (t *settingsTable) config(s *setting) map[string]any {
	changes := t.Configs[s.Of]
	out := cloned(t.Config).(map[string]any)
	if _, whole := changes["model_type"]; whole {
		out = cloned(changes).(map[string]any)
	} else {
		override(out, changes)
	}
	override(out, s.Config)
	for _, key := range s.Without {
		delete(out, key)
	}
	return out
}

func override(config, changes map[string]any) {
	for key, value := range changes {
		at, path := config, strings.Split(key, ".")
		for _, part := range path[:len(path)-1] {
			at = at[part].(map[string]any)
		}
		at[path[len(path)-1]] = cloned(value)
	}
}

// cloned copies a value of YAML as header.Config has values: ints are int64.
func cloned(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cloned(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = cloned(v[k])
		}
		return out
	}
	return v
}

func settingsTables(t *testing.T) (out []*settingsTable) {
	files, err := filepath.Glob("../tools/oracle/models/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		table := &settingsTable{model: strings.TrimSuffix(filepath.Base(file), ".yaml")}
		require.NoError(t, yaml.Unmarshal(data, table), file)
		for i := 0; i+1 < len(table.Settings.Content); i += 2 {
			s := setting{name: table.Settings.Content[i].Value}
			require.NoError(t, table.Settings.Content[i+1].Decode(&s), file)
			s.Layout = or(s.Layout, "converted")
			table.settings = append(table.settings, s)
		}
		out = append(out, table)
	}
	return out
}

// coverage is docs/coverage.json, which `make coverage` writes.
type coverage struct {
	Environment struct {
		MLX    string `json:"mlx"`
		MLXLM  string `json:"mlx_lm"`
		System string `json:"system"`
		Arch   string `json:"arch"`
		CPU    string `json:"cpu"`
	} `json:"environment"`
	Cases map[string]struct{ Prefill, Decode, Chunk, Batch, Tokens int } `json:"cases"`
}

// TestCoverage writes coverage.md from the settings tables, the graphs and the figures of the last `make coverage`, and
// holds it to them. Every setting has a figure.
func TestCoverage(t *testing.T) {
	var figures coverage
	data, err := os.ReadFile("coverage.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &figures))
	tables := settingsTables(t)
	values := func(table *settingsTable, s *setting) int {
		c, ok := figures.Cases[table.model+"-"+s.name]
		require.True(t, ok, "%s-%s was not compared: `make coverage MODELS=%s`", table.model, s.name, table.model)
		return c.Prefill + c.Decode + c.Chunk + c.Batch
	}
	var b strings.Builder
	b.WriteString("# Coverage\n\n" + written("tools/oracle/models, graphs/models and docs/coverage.json (`make coverage`)") + coverageHead)
	total, cases := 0, 0
	var details strings.Builder
	for _, table := range tables {
		sum := 0
		for i := range table.settings {
			sum += values(table, &table.settings[i])
		}
		total, cases = total+sum, cases+len(table.settings)
		f := table.facts(t)
		name := fmt.Sprintf("[%s](#%s)", table.model, table.model)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s | %s |\n", name, join(f.entries), join(f.states), join(f.layouts), len(table.settings), thousands(sum), join(f.missing))
		fmt.Fprintf(&details, "\n### %s\n\n%s\n\n| setting | layout | stored as | shows | values equal |\n| --- | --- | --- | --- | --- |\n", table.model, f.doc)
		for i := range table.settings {
			s := &table.settings[i]
			fmt.Fprintf(&details, "| %s | %s | %s | %s | %s |\n", s.name, s.Layout, s.stored(), cell(s.Shows), thousands(values(table, s)))
		}
	}
	e := figures.Environment
	fmt.Fprintf(&b, "\nTogether %s values of %d checkpoints, all equal. Last run: %s %s, %s, MLX %s, mlx-lm %s.\n", thousands(total), cases, e.System, e.Arch, e.CPU, e.MLX, e.MLXLM)
	b.WriteString(coverageNotes + "\n## Settings\n" + details.String())
	generated(t, "coverage.md", b.String())
	require.Len(t, figures.Cases, cases, "coverage.json has a case that no table has: `make coverage` writes it anew")
}

const coverageHead = `
Each shipped model is held to mlx-lm on small random checkpoints, bit for bit: ` + "`make oracle`" + ` makes the checkpoints, runs
mlx-lm in one process and graphrun in another, and prints what was compared. ` + "`make oracle MODELS=llama,qwen3_5`" + ` takes some.
Compared are all logits of two or more prompts (7 and 33 tokens; some of 245 to 300) in one forward each, of 8 decode steps
after each, of a second chunk of 5 tokens, and of two sequences at once with 8 decode steps; and the tokens of greedy generation
with the prompt in chunks of 2,048 and of 16.

| model | entries | states | layouts | settings | values equal | not covered |
| --- | --- | --- | --- | --- | --- | --- |
`

const coverageNotes = `
- *Layouts*: *converted* is what mlx-lm saves, *raw* what the model's publisher does on Hugging Face, *prefixed* a converted
  text model under the name of the larger one. Where a model has only *converted*, the two are the same.
- *Batch*: two sequences of one length, on the caches that mlx-lm gives a single one. The left padding of its
  ` + "`batch_generate`" + ` is not there.
- *Dense bfloat16 experts*: MLX's ` + "`gather_mm`" + ` takes float32 only on the CPU, so mlx-lm cannot run these there. Such models are
  compared in float32 and quantised.
- *GGUF*: [checkpoints.md](checkpoints.md); held to mlx-lm with SmolLM2 ([numerics.md](numerics.md)).
`

// modelFacts are what the page says of a model beside figures.
type modelFacts struct {
	doc                               string
	entries, states, layouts, missing []string
}

// facts composes a model for the config of each setting.
func (t *settingsTable) facts(tt *testing.T) (f modelFacts) {
	path, data := t.document(tt)
	var list diag.List
	doc := syntax.Parse(source.Parse(path, data, &list), &list)
	require.Empty(tt, list.Sorted())
	f.doc = doc.Doc
	f.entries = []string{"text"}
	f.missing = slices.Clone(t.Missing)
	entries := doc.Entries
	if doc.Extends != nil && !doc.Has("entries") {
		base := settingsTable{model: doc.Extends.Text}
		path, data := base.document(tt)
		entries = syntax.Parse(source.Parse(path, data, &list), &list).Entries
	}
	for _, e := range entries {
		f.entries = append(f.entries, e.Name.Text)
		if how, ok := t.Entries[e.Name.Text]; ok {
			f.entries[len(f.entries)-1] += " (" + how + ")"
		} else {
			f.missing = append(f.missing, "entry "+e.Name.Text)
		}
	}
	reg, err := ops.Default()
	require.NoError(tt, err)
	states, experts := map[string]bool{}, false
	for i := range t.settings {
		s := &t.settings[i]
		r := compose.Request{Model: t.model, Shipped: graphs.Files, Registry: reg, Config: &header.Config{Path: t.model + "-" + s.name, Values: t.config(s)}}
		if t.Graph != "" {
			r.Model, r.Graph = "", path
		}
		out, err := compose.Compose(context.Background(), r)
		require.NoError(tt, err)
		for _, d := range out.Diagnostics.Sorted() {
			require.NotEqual(tt, diag.Error, d.Severity, "%s-%s: %v", t.model, s.name, d)
		}
		for _, st := range out.Plan.States {
			states[stateText(&st)] = true
		}
		experts = experts || slices.ContainsFunc(out.Plan.Ports, func(p plan.Port) bool { return p.Kind == "experts" })
		if !slices.Contains(f.layouts, s.Layout) {
			f.layouts = append(f.layouts, s.Layout)
		}
	}
	slices.Sort(f.layouts)
	f.states = slices.Sorted(maps.Keys(states))
	if experts {
		f.missing = append(f.missing, "dense bfloat16 experts")
	}
	return f
}

func (t *settingsTable) document(tt *testing.T) (path string, data []byte) {
	var err error
	if t.Graph != "" {
		path = filepath.Join("..", t.Graph)
		data, err = os.ReadFile(path)
	} else {
		path = "graphs/models/" + t.model + ".yaml"
		data, err = fs.ReadFile(graphs.Files, "models/"+t.model+".yaml")
	}
	require.NoError(tt, err)
	return path, data
}

// stateText is a state's kind, without sizes.
func stateText(s *plan.State) string {
	text := s.Kind
	for _, key := range []string{"window", "chunk"} {
		if s.Args.Int(key) > 0 {
			text += " with " + key
		}
	}
	if s.Kind == "array" {
		text = s.Path[strings.LastIndexByte(s.Path, '.')+1:]
	}
	return text
}

// TestEveryModelIsCovered: a shipped model has a settings table with two settings or more, and a table has a model.
func TestEveryModelIsCovered(t *testing.T) {
	tables := map[string]int{}
	for _, table := range settingsTables(t) {
		if table.Graph == "" {
			tables[table.model] = len(table.settings)
		}
	}
	models, err := fs.Glob(graphs.Files, "models/*.yaml")
	require.NoError(t, err)
	for _, m := range models {
		name := strings.TrimSuffix(filepath.Base(m), ".yaml")
		require.GreaterOrEqual(t, tables[name], 2, "tools/oracle/models/%s.yaml has two settings or more", name)
		delete(tables, name)
	}
	require.Empty(t, tables, "settings of models that are not shipped")
}

func join(list []string) string { return strings.Join(list, ", ") }

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
