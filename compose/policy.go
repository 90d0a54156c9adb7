package compose

import (
	"sort"
	"strconv"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/plan"
)

// nativeOperators are those that some variant in force leaves to the device's own kernels.
func (c *composer) nativeOperators() bool {
	good := true
	for _, v := range c.variants {
		for _, w := range v.doc.Variant.Native {
			op := c.reg.Operator(w.Text)
			if op == nil || op.Native == nil {
				var names []string
				for _, o := range c.reg.Operators() {
					if o.Native != nil {
						names = append(names, o.Name)
					}
				}
				d := c.list.Errorf("not-native", w.At, "there are no kernels of its own for an operator %s", w.Text)
				d.Among(w.Text, names, "operators with kernels")
				good = false
				continue
			}
			if !containsString(c.plan.Native, w.Text) {
				c.plan.Native = append(c.plan.Native, w.Text)
			}
		}
	}
	sort.Strings(c.plan.Native)
	return good
}

// fusedOperators are those that some variant in force lets classes take into their own calls, and those that take in others.
func (c *composer) fusedOperators() bool {
	good := true
	for _, v := range c.variants {
		for _, w := range v.doc.Variant.Fuse {
			var names []string
			for _, class := range c.reg.Classes() {
				names = append(append(names, class.Before...), class.After...)
			}
			for _, o := range c.reg.Operators() {
				if o.Joint != nil {
					names = append(names, o.Name)
				}
			}
			if !containsString(names, w.Text) {
				c.list.Errorf("not-fused", w.At, "nothing runs as one with an operator %s", w.Text).Among(w.Text, names, "operators that run as one with others")
				good = false
				continue
			}
			if !containsString(c.fused, w.Text) {
				c.fused = append(c.fused, w.Text)
			}
		}
	}
	return good
}

// submitPolicy takes submit and verify_cost whole from the last variant that has them.
func (c *composer) submitPolicy() bool {
	good := true
	for _, v := range c.variants {
		if rows := v.doc.Variant.Submit; len(rows) > 0 {
			keys := make([]syntax.Row, len(rows))
			for i := range rows {
				keys[i] = rows[i].Row
			}
			spans, ok := v.spans(c, keys)
			good = good && ok
			c.plan.Submit = nil
			for _, s := range spans {
				out := plan.Submit{First: s.first, Last: s.last}
				if s.last == endless {
					out.Last = 0
				}
				for _, a := range rows[s.entry].Args {
					val, ok := c.evalFacts(a.Value, v.scope)
					good = good && ok
					if ok {
						out.Args = append(out.Args, plan.Arg{Name: a.Name.Text, Value: val.Plan()})
					}
				}
				c.plan.Submit = append(c.plan.Submit, out)
			}
		}
		if costs := v.doc.Variant.Verify; len(costs) > 0 {
			c.plan.Verify = nil
			for _, cost := range costs {
				n, err := strconv.Atoi(cost.Rows.Text)
				if err != nil || n < 1 {
					c.list.Errorf("bad-rows", cost.Rows.At, "verify_cost's keys are row counts; this is %s", cost.Rows.Text).Helped("write it as in `verify_cost: {1: 1.0, 4: 1.7}`")
					good = false
					continue
				}
				val, ok := c.evalFacts(cost.Cost, v.scope)
				f, isNumber := val.Number()
				if ok && !isNumber {
					c.list.Errorf("parameter-type", cost.Cost.At(), "a cost is a number; this is %s", val.Show()).Helped("a cost is that of a forward of one row times a number, as in `{1: 1.0, 4: 1.7}`")
				}
				good = good && ok && isNumber
				c.plan.Verify = append(c.plan.Verify, plan.Cost{Rows: n, Cost: f})
			}
			sort.Slice(c.plan.Verify, func(i, j int) bool { return c.plan.Verify[i].Rows < c.plan.Verify[j].Rows })
		}
	}
	return good
}
