package draft

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

const (
	tried  = 3 // shipped models whose switches are thrown
	rounds = 6 // switches thrown at most
)

// candidate is a shipped model with the changes that make it suit better.
type candidate struct {
	name, text string
	changes    []string
	fit        *fit
}

// Model writes a model file: the shipped one that suits the request's config and checkpoint best, under a name of its own,
// with what was found and what is not decided in comments. fits tells whether every tensor is used and none is missing.
func Model(ctx context.Context, r compose.Request, a About) (text []byte, fits bool, err error) {
	all, err := candidates(ctx, r)
	if err != nil {
		return nil, false, err
	}
	for i := range all[:min(tried, len(all))] {
		if all[0].fit.faults() == 0 {
			break // nothing is better
		}
		if err := throw(ctx, r, &all[i]); err != nil {
			return nil, false, err
		}
	}
	slices.SortStableFunc(all, byFit)
	best := &all[0]
	w := &writer{}
	intro(w, r, a, all)
	undecided(w, r, best.fit)
	kind, _ := r.Config.Values["model_type"].(string)
	body, err := adapted(best.text, a, best.name, kind)
	if err != nil {
		return nil, false, err
	}
	w.b.WriteString(body)
	out, err := w.formatted(a.file())
	return out, r.Checkpoint != nil && len(best.fit.errors) == 0 && best.fit.faults() == 0, err
}

// byFit puts what suits better first; of two that suit alike, the one that less was changed of.
func byFit(a, b candidate) int {
	alike := len(a.fit.errors) == len(b.fit.errors) && a.fit.faults() == b.fit.faults()
	switch {
	case alike && len(a.changes) != len(b.changes):
		return len(a.changes) - len(b.changes)
	case a.fit.better(b.fit):
		return -1
	case b.fit.better(a.fit):
		return 1
	}
	return 0
}

// candidates are the shipped models, the best first.
func candidates(ctx context.Context, r compose.Request) ([]candidate, error) {
	files, err := fs.Glob(r.Shipped, "models/*.yaml")
	if err != nil {
		return nil, err
	}
	var out []candidate
	for _, file := range files {
		data, err := fs.ReadFile(r.Shipped, file)
		if err != nil {
			return nil, err
		}
		f, err := measure(ctx, r, string(data))
		if err != nil {
			return nil, err
		}
		out = append(out, candidate{name: strings.TrimSuffix(path.Base(file), ".yaml"), text: string(data), fit: f})
	}
	if len(out) == 0 {
		return nil, errors.New("no model is shipped to begin with")
	}
	slices.SortStableFunc(out, byFit)
	return out, nil
}

// throw throws switches of a candidate as long as that makes it suit better: the best one of each round.
func throw(ctx context.Context, r compose.Request, c *candidate) error {
	for range rounds {
		if r.Checkpoint == nil || len(c.fit.errors) > 0 || c.fit.faults() == 0 {
			return nil
		}
		var best *candidate
		for _, s := range switches(c.text, r.Shipped) {
			f, err := measure(ctx, r, s.text)
			if err != nil {
				return err
			}
			if f.faults() < c.fit.faults() && len(f.errors) == 0 && (best == nil || f.better(best.fit)) {
				best = &candidate{c.name, s.text, append(slices.Clone(c.changes), s.what), f}
			}
		}
		if best == nil {
			return nil
		}
		*c = *best
	}
	return nil
}

func intro(w *writer, r compose.Request, a About, all []candidate) {
	best := &all[0]
	kind := "without a model_type"
	if k, ok := r.Config.Values["model_type"].(string); ok {
		kind = fmt.Sprintf("model_type %s", k)
	}
	w.comment(fmt.Sprintf("A draft, written by `graphrun init` for %s (%s).", a.Path, kind))
	why := "its lets ask for the config's keys"
	if r.Checkpoint != nil && best.fit.list != nil {
		why = fmt.Sprintf("it uses %d of %s", best.fit.used, count(len(best.fit.list.Weights), "tensor"))
	}
	var next []string
	for _, c := range all[1:min(3, len(all))] {
		next = append(next, c.name)
	}
	w.comment(fmt.Sprintf("It is the shipped model %s, the nearest: %s. Next are %s.", best.name, why, strings.Join(next, " and ")))
	for _, c := range best.changes {
		w.item("changed: " + c + ", as the tensors want it")
	}
	if r.Checkpoint != nil {
		layers(w, r.Checkpoint)
	} else {
		w.comment("Only the config was looked at, and no tensor: name a checkpoint for what its tensors say.")
	}
}

// undecided says what the draft leaves open.
func undecided(w *writer, r compose.Request, f *fit) {
	var items []string
	put := func(what string, list []string) {
		if len(list) > 0 {
			items = append(items, what+": "+strings.Join(few(list, 16), ", "))
		}
	}
	for _, d := range f.errors {
		items = append(items, "for this config: "+d.Message)
	}
	put("tensors that nothing here uses (an operator is missing, or a view step that drops or renames them)", f.unused)
	put("tensors that the graph wants and the checkpoint does not have (a node too many, or another name: a view step renames)", f.missing)
	put("shapes", f.mismatched)
	put("config keys that no expression asks for, some of which may matter", keys(f.unasked))
	if r.Checkpoint != nil && len(f.errors)+f.faults() == 0 {
		w.comment("Every tensor is used and none is missing. That the numbers are right it does not say: norms that add one to their gain, scales, the order " +
			"of operations have no tensor. Compare with a saved oracle (graphrun compare).")
	}
	if items == nil {
		return
	}
	w.comment("Not decided:")
	for _, i := range items {
		w.item(i)
	}
}

// plain are config keys that no graph asks for.
var plain = []string{"architectures", "model_type", "transformers_version", "torch_dtype", "dtype", "bos_token_id", "eos_token_id", "pad_token_id", "use_cache",
	"quantization", "quantization_config", "initializer_range", "attention_dropout"}

func keys(list []string) []string {
	var out []string
	for _, k := range list {
		if !slices.Contains(plain, k) {
			out = append(out, k)
		}
	}
	return out
}

// adapted is the text of a shipped model with a name, a doc and a condition of its own and without its examples.
func adapted(text string, a About, of, kind string) (string, error) {
	file := source.Parse(draftPath, []byte(text), &diag.List{})
	if file.Root == nil {
		return "", fmt.Errorf("the shipped model %s cannot be read", of)
	}
	recognises := "recognises: true"
	if kind != "" {
		recognises = fmt.Sprintf("recognises: config.string('model_type') == %s", celText(kind))
	}
	own := map[string]string{
		"name":       "name: " + a.Name,
		"doc":        fmt.Sprintf("doc: A draft, after the shipped %s.", of),
		"recognises": recognises,
		"examples":   "",
	}
	lines := strings.Split(text, "\n")
	var out []string
	top := file.Root.Content
	for i := 0; i < len(top); i += 2 {
		first, end := top[i].Line, len(lines)+1
		if i+2 < len(top) {
			end = firstLine(top[i+2])
		}
		if line, replaced := own[top[i].Value]; replaced {
			if line != "" {
				out = append(out, line)
			}
			continue
		}
		out = append(out, lines[first-1:end-1]...)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n", nil
}

// firstLine is that of a key with the comments above it.
func firstLine(key *yaml.Node) int {
	if key.HeadComment == "" {
		return key.Line
	}
	return key.Line - 1 - strings.Count(key.HeadComment, "\n")
}

// celText is a word of the config as a text of an expression, safe in a plain YAML scalar.
func celText(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '\'' || r == '\\' || r == '#' || r < ' ' {
			return -1
		}
		return r
	}, s)
	return "'" + clean + "'"
}
