package steps

import (
	"fmt"

	"github.com/graphrun/graphrun/text/regex"
)

// behavior says what becomes of the matches when a text is split at them.
type behavior string

const (
	removed    behavior = "Removed"
	isolated   behavior = "Isolated"
	mergedPrev behavior = "MergedWithPrevious"
	mergedNext behavior = "MergedWithNext"
	contiguous behavior = "Contiguous"
)

func readBehavior(s string) (behavior, error) {
	switch b := behavior(s); b {
	case removed, isolated, mergedPrev, mergedNext, contiguous:
		return b, nil
	}
	return "", fmt.Errorf("unknown behavior %q; known are %s, %s, %s, %s, %s", s, removed, isolated, mergedPrev, mergedNext, contiguous)
}

type section struct {
	start, end int
	match      bool
}

// cut splits text at a pattern and calls emit for each part, which may be empty.
func cut(text string, p *pattern, b behavior, invert bool, budget *regex.Budget, emit func(start, end int) error) error {
	if b == isolated || b == removed {
		return cutPlain(text, p, b == removed, invert, budget, emit)
	}
	var all []section
	last := 0
	err := p.each(text, budget, func(start, end int) {
		if last != start {
			all = append(all, section{last, start, invert})
		}
		all = append(all, section{start, end, !invert})
		last = end
	})
	if err != nil {
		return err
	}
	if last != len(text) {
		all = append(all, section{last, len(text), invert})
	}
	for _, s := range join(all, b) {
		if err := emit(s.start, s.end); err != nil {
			return err
		}
	}
	return nil
}

// cutPlain needs no list: every section is a part of its own, matches or what lies between them possibly left out.
func cutPlain(text string, p *pattern, remove, invert bool, budget *regex.Budget, emit func(start, end int) error) error {
	last := 0
	var failed error
	part := func(start, end int, match bool) {
		if failed == nil && start < end && !(remove && match) {
			failed = emit(start, end)
		}
	}
	err := p.each(text, budget, func(start, end int) {
		part(last, start, invert)
		part(start, end, !invert)
		last = end
	})
	if err != nil {
		return err
	}
	part(last, len(text), invert)
	return failed
}

// join merges sections by the behaviors that do.
func join(all []section, b behavior) []section {
	var out []section
	switch b {
	case contiguous:
		previous := false
		for _, s := range all {
			if s.match == previous && len(out) > 0 {
				out[len(out)-1].end = s.end
			} else {
				out = append(out, s)
			}
			previous = s.match
		}
	case mergedPrev:
		previous := false
		for _, s := range all {
			if s.match && !previous && len(out) > 0 {
				out[len(out)-1].end = s.end
			} else {
				out = append(out, s)
			}
			previous = s.match
		}
	case mergedNext:
		previous := false
		for i := len(all) - 1; i >= 0; i-- {
			s := all[i]
			if s.match && !previous && len(out) > 0 {
				out[len(out)-1].start = s.start
			} else {
				out = append(out, s)
			}
			previous = s.match
		}
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out
}
