package view

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/weights/header"
)

func (d Drop) apply(s *state) {
	for _, f := range s.hits(d.From, d.When) {
		for _, p := range f.parts {
			name := f.base + p
			if d.As != "" {
				if s.aside[d.As] == nil {
					s.aside[d.As] = map[string]*Recipe{}
				}
				s.aside[d.As][name] = s.tensors[name]
			}
			delete(s.tensors, name)
			s.dropped = append(s.dropped, Dropped{name, s.step, d.As})
			s.index = nil
		}
	}
}

func (r Rename) apply(s *state) {
	var changes []change
	for _, f := range s.hits(r.From, r.When) {
		to, err := f.target(r.To)
		if err != nil {
			s.fail("to", 0, f.Name, err)
			continue
		}
		c := change{put: map[string]*Recipe{}, by: f}
		for _, p := range f.parts {
			c.take = append(c.take, f.base+p)
			c.put[partOf(to, p)] = s.tensors[f.base+p]
		}
		if f.parts[0] != "" {
			c.table = map[string][]string{f.module(): {module(to)}}
		}
		changes = append(changes, c)
	}
	s.commit("to", changes)
}

func (e Each) apply(s *state) {
	for _, f := range s.hits(e.From, e.When) {
		if f.quantised() {
			s.fail("", 0, f.Name, fmt.Errorf("it is quantised, and an operation on its codes would leave its scales behind"))
			continue
		}
		r, ok := s.tensors[f.Name], true
		for i, do := range e.Do {
			m := Match{f.Captures, r.Shape, r.Dtype}
			next, err := do.of(r, m)
			if err != nil {
				s.fail("do", i, f.Name, err)
				ok = false
				break
			}
			r = next
		}
		if ok {
			s.tensors[f.Name] = r
		}
	}
}

func (c Split) apply(s *state) {
	var changes []change
	for _, f := range s.hits(c.From, c.When) {
		one, field, index, err := c.split(s, f)
		if err != nil {
			s.fail(field, index, f.Name, err)
			continue
		}
		changes = append(changes, one)
	}
	s.commit("into", changes)
}

func (c Split) split(s *state, f *family) (out change, field string, index int, err error) {
	axis, err := axisOf(c.Axis, len(f.Shape))
	if err != nil {
		return out, "axis", 0, err
	}
	if f.quantised() && axis == len(f.Shape)-1 {
		return out, "axis", 0, fmt.Errorf("it is quantised along axis %d, and cannot be split there", axis)
	}
	if err := s.whole(f); err != nil {
		return out, "", 0, err
	}
	ranges, err := c.ranges(f, axis)
	if err != nil {
		return out, "sizes", 0, err
	}
	out = change{put: map[string]*Recipe{}, by: f}
	var modules []string
	for i, into := range c.Into {
		to, err := f.target(into)
		if err != nil {
			return out, "into", i, err
		}
		modules = append(modules, module(to))
		for _, p := range f.parts {
			whole := s.tensors[f.base+p]
			if axis >= len(whole.Shape) || whole.Shape[axis] != f.Shape[axis] {
				return out, "", 0, fmt.Errorf("its %s has shape %v, which does not go with %v", p, whole.Shape, f.Shape)
			}
			piece := slice(whole, axis, ranges[i][0], ranges[i][1], ranges[i][2])
			if c.Interleave {
				piece = derive(OpContiguous, piece)
			}
			name := partOf(to, p)
			if out.put[name] != nil {
				return out, "into", i, fmt.Errorf("two of its parts are named %s", name)
			}
			out.put[name] = piece
		}
	}
	for _, p := range f.parts {
		out.take = append(out.take, f.base+p)
	}
	if f.parts[0] != "" {
		out.table = map[string][]string{f.module(): modules}
	}
	return out, "", 0, nil
}

// ranges gives start, stop and stride of each part.
func (c Split) ranges(f *family, axis int) ([][3]int, error) {
	n, dim := len(c.Into), f.Shape[axis]
	if n == 0 {
		return nil, fmt.Errorf("it is split into nothing")
	}
	var out [][3]int
	if c.Sizes != nil && !c.Interleave {
		sizes, err := c.Sizes(f.Match)
		if err != nil {
			return nil, err
		}
		at := 0
		for _, size := range sizes {
			if size < 0 || size > dim-at {
				return nil, fmt.Errorf("sizes %v do not add up to the %d of axis %d", sizes, dim, axis)
			}
			out = append(out, [3]int{at, at + size, 1})
			at += size
		}
		if at != dim || len(sizes) != n {
			return nil, fmt.Errorf("%d sizes %v for %d parts of the %d of axis %d", len(sizes), sizes, n, dim, axis)
		}
		return out, nil
	}
	if dim%n != 0 {
		return nil, fmt.Errorf("the %d of axis %d are not %d equal parts", dim, axis, n)
	}
	for i := range n {
		if c.Interleave {
			out = append(out, [3]int{i, dim, n})
		} else {
			out = append(out, [3]int{i * dim / n, (i + 1) * dim / n, 1})
		}
	}
	return out, nil
}

func (k Stack) apply(s *state) {
	for _, p := range k.From {
		if !slices.Contains(p.Names(), k.Over) {
			s.fail("over", 0, "", fmt.Errorf("%s captures no {%s} to stack over", p, k.Over))
			return
		}
	}
	groups := map[string]map[int]*family{}
	for _, f := range s.hits(k.From, k.When) {
		to, err := f.target(k.To)
		if err != nil {
			s.fail("to", 0, f.Name, err)
			continue
		}
		index := f.Named[k.Over]
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || strconv.Itoa(i) != index {
			s.fail("over", 0, f.Name, fmt.Errorf("%q is no index from 0 up", index))
			continue
		}
		if groups[to] == nil {
			groups[to] = map[int]*family{}
		}
		if other := groups[to][i]; other != nil {
			s.fail("to", 0, f.Name, fmt.Errorf("%s and it are both part %d of %s", other.Name, i, to))
			continue
		}
		groups[to][i] = f
	}
	var changes []change
	for _, to := range slices.Sorted(maps.Keys(groups)) {
		members := groups[to]
		list := make([]*family, 0, len(members))
		for i := range len(members) {
			if members[i] == nil {
				s.fail("", 0, to, fmt.Errorf("it has %d parts, the last is %d, and part %d is missing", len(members), slices.Max(slices.Collect(maps.Keys(members))), i))
				list = nil
				break
			}
			list = append(list, members[i])
		}
		if list == nil {
			continue
		}
		c, err := s.gather(OpStack, list, to, 0)
		if err != nil {
			s.fail("", 0, to, err)
			continue
		}
		changes = append(changes, c)
	}
	s.commit("to", changes)
}

func (j Join) apply(s *state) {
	if len(j.From) == 0 {
		return
	}
	var changes []change
	for _, first := range s.hits(j.From[:1], j.When) {
		c, field, err := j.join(s, first)
		if err != nil {
			s.fail(field, 0, first.Name, err)
			continue
		}
		changes = append(changes, c)
	}
	s.commit("to", changes)
}

func (j Join) join(s *state, first *family) (out change, field string, err error) {
	to, err := first.target(j.To)
	if err != nil {
		return out, "to", err
	}
	axis, err := axisOf(j.Axis, len(first.Shape))
	if err != nil {
		return out, "axis", err
	}
	if first.quantised() && axis == len(first.Shape)-1 {
		return out, "axis", fmt.Errorf("it is quantised along axis %d, and cannot be joined there", axis)
	}
	list := []*family{first}
	for _, p := range j.From[1:] {
		name, err := pattern.Fill(p.String(), first.Captures)
		if err != nil {
			return out, "", err
		}
		t := s.tensors[name]
		if t == nil {
			return out, "", fmt.Errorf("%s, which is to be joined with it, is not there", name)
		}
		f := &family{Match: Match{pattern.Captures{Name: name}, t.Shape, t.Dtype}}
		f.base, f.parts = s.familyOf(name)
		list = append(list, f)
	}
	out, err = s.gather(OpConcatenate, list, to, axis)
	return out, "", err
}

// gather stacks or joins families part by part. They must be quantised alike, since the result is one weight.
func (s *state) gather(op Op, list []*family, to string, axis int) (change, error) {
	first := list[0]
	out := change{put: map[string]*Recipe{}, table: map[string][]string{}, by: first}
	if err := s.whole(first); err != nil {
		return out, err
	}
	seen := map[string]bool{}
	for _, f := range list {
		if seen[f.Name] {
			return out, fmt.Errorf("%s is part of it twice", f.Name)
		}
		seen[f.Name] = true
		if !slices.Equal(f.parts, first.parts) {
			return out, fmt.Errorf("%s has %s, and %s has %s", first.Name, partNames(first), f.Name, partNames(f))
		}
		a, aok := s.q.For(first.module())
		b, bok := s.q.For(f.module())
		if f.quantised() && (a != b || aok != bok) {
			return out, fmt.Errorf("%s is %s, and %s is %s", first.Name, a, f.Name, b)
		}
		if f.parts[0] != "" {
			out.table[f.module()] = []string{module(to)}
		}
	}
	for _, p := range first.parts {
		var inputs []*Recipe
		for _, f := range list {
			out.take = append(out.take, f.base+p)
			inputs = append(inputs, s.tensors[f.base+p])
		}
		r, err := gather(op, inputs, axis)
		if err != nil {
			return out, err
		}
		out.put[partOf(to, p)] = r
	}
	return out, nil
}

// whole refuses to take apart or to join trellis codes: the rows that they are stored by may be the inputs.
func (s *state) whole(f *family) error {
	if q, ok := s.q.For(f.module()); f.quantised() && ok && q.Mode == header.Trellis {
		return fmt.Errorf("it is stored as %s, which is taken as a whole", q)
	}
	return nil
}

func partNames(f *family) string {
	if !f.quantised() {
		return "no scales"
	}
	return strings.Join(f.parts[1:], " and ")
}
