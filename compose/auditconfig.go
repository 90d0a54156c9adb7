package compose

import (
	"strings"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/diag"
)

// askRope says how a model would ask a key of rotary positions, and where its value goes.
func askRope(key string, v any) string {
	if _, is := v.(map[string]any); is {
		return "a let reads it, `" + key + ": config.dict('" + key + "', {})`, and rope takes it as `scaling`"
	}
	return "a let reads it, `" + key + ": config." + or(expr.Reader(v), "float") + "('" + key + "')`, and rope takes it as a parameter (`graphrun doc rope`)"
}

// auditConfig keeps which keys of config.json no expression asked for. A rope key among them changes what the model
// computes, and losing one is how a checkpoint runs wrong without an error: that is a warning.
func (c *composer) auditConfig() {
	c.plan.Unasked = expr.Unasked(c.req.Config.Values, c.asked)
	for _, key := range c.plan.Unasked {
		leaf := key[strings.LastIndex(key, ".")+1:]
		if !strings.HasPrefix(leaf, "rope") || c.req.Config.Values[key] == nil && !strings.Contains(key, ".") {
			continue
		}
		c.list.Warnf("rope-key-unasked", diag.Range{File: c.req.Config.Path}, "%s asks nothing of %s in the config: it has no effect", c.model.Name.Text, key).Helped("%s", askRope(leaf, c.req.Config.Values[key]))
	}
}
