package compare

import (
	"fmt"

	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/plan"
)

func states(a, b *explain.Report) []Line {
	text := func(s *explain.State) string {
		out := s.Kind + explain.ArgsText(s.Args) + " " + s.Dtype
		if s.Scheme != "" {
			out += " stored as " + s.Scheme
		}
		if s.PerPosition > 0 {
			out += ", " + explain.Bytes(s.PerPosition) + "/position"
		}
		if s.Fixed > 0 {
			out += ", " + explain.Bytes(s.Fixed)
		}
		if s.Rollback != "" {
			out += ", rollback " + s.Rollback
		}
		return out
	}
	return keyed(a.States, b.States, func(s *explain.State) string { return s.Path },
		func(s *explain.State) Line { return Line{Path: s.Path, Text: text(s)} },
		func(x, y *explain.State) []Line {
			if text(x) == text(y) {
				return nil
			}
			return []Line{{Mark: "~", Path: x.Path, Text: text(x) + " → " + text(y)}}
		})
}

func dropped(a, b *explain.Report) []Line {
	return keyed(a.Dropped, b.Dropped, func(d *explain.Dropped) string { return d.Path + "\x00" + d.What + "\x00" + d.Why },
		func(d *explain.Dropped) Line { return Line{Path: d.Path, Text: d.What + ", " + d.Why, Place: d.Line} },
		func(_, _ *explain.Dropped) []Line { return nil })
}

func memory(a, b *explain.Report) []Line {
	out := keyed(a.Memory.Items, b.Memory.Items, func(i *explain.Item) string { return i.Name },
		func(i *explain.Item) Line { return Line{Text: i.Name + ": " + explain.Bytes(i.Bytes)} },
		func(x, y *explain.Item) []Line { return bytes(x.Name, x.Bytes, y.Bytes) })
	return append(out, bytes("in all", a.Memory.Total, b.Memory.Total)...)
}

func bytes(name string, a, b int64) []Line {
	if a == b {
		return nil
	}
	sign, n := "+", b-a
	if n < 0 {
		sign, n = "-", -n
	}
	return []Line{{Mark: "~", Text: fmt.Sprintf("%s: %s → %s (%s%s)", name, explain.Bytes(a), explain.Bytes(b), sign, explain.Bytes(n))}}
}

func tensors(a, b *plan.Plan) []Line {
	text := func(t *plan.Tensor) string { return fmt.Sprintf("%s %v", t.Dtype, t.Shape) }
	return keyed(a.Tensors, b.Tensors, func(t *plan.Tensor) string { return t.Name },
		func(t *plan.Tensor) Line { return Line{Path: t.Name, Text: text(t)} },
		func(x, y *plan.Tensor) []Line {
			if text(x) != text(y) {
				return []Line{{Mark: "~", Path: x.Name, Text: text(x) + " → " + text(y)}}
			}
			if !explain.SameRecipe(x.Recipe, y.Recipe) {
				return []Line{{Mark: "~", Path: x.Name, Text: "made in another way of the stored tensors"}}
			}
			return nil
		})
}
