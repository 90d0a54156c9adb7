package explain

import "slices"

// Target is a kind of port whose weights an adapter may touch.
type Target struct {
	Kind    string `json:"kind"`
	Ports   int    `json:"ports"`
	Adapted int    `json:"adapted"` // of them, those that name a class for it; the others run their exact class
}

// targets counts what adapters attach to: every weight of a linear port (parts of an mlp are such ports), of experts,
// embeddings and heads, and a fused gate and up as the one weight it is. A path is one port in all entries.
func targets(entries []Entry) []Target {
	kinds := []string{"linear", "gate_up", "experts", "embedding", "head"}
	out := make([]Target, len(kinds))
	seen := map[string]bool{}
	for i := range entries {
		for k := range entries[i].Ports {
			p := &entries[i].Ports[k]
			n := slices.Index(kinds, p.Kind)
			if n < 0 || seen[p.Path] || p.Kind == "gate_up" && len(p.Weights) != 1 {
				continue
			}
			seen[p.Path] = true
			out[n].Kind = p.Kind
			out[n].Ports++
			if slices.ContainsFunc(p.Rows, func(c Choice) bool { return c.Adapted != "" }) {
				out[n].Adapted++
			}
		}
	}
	return slices.DeleteFunc(out, func(t Target) bool { return t.Ports == 0 })
}
