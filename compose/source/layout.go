package source

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/diag"
)

// A place in the text, by line and column from 1.
type spot struct {
	line, col int
	char      rune
}

// scan walks the characters that are in no quotes and no comment. A quote begins where a value may.
func (f *File) scan(each func(at spot)) {
	for i, line := range f.lines {
		quote, before, space, col := rune(0), ':', true, 0
	line:
		for _, c := range line {
			col++
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case (c == '\'' || c == '"') && strings.ContainsRune(":,[{-", before):
				quote = c
			case c == '#' && space:
				break line
			default:
				each(spot{i + 1, col, c})
			}
			if space = c == ' ' || c == '\t'; !space {
				before = c
			}
		}
	}
}

var closes = map[rune]rune{'}': '{', ']': '['}

// unclosed finds a bracket without its partner: ok is false where all have one.
func (f *File) unclosed() (at spot, message, help string, ok bool) {
	var open []spot
	f.scan(func(s spot) {
		switch s.char {
		case '{', '[':
			open = append(open, s)
		case '}', ']':
			if n := len(open); n > 0 && open[n-1].char == closes[s.char] {
				open = open[:n-1]
			} else if !ok {
				at, ok = s, true
				message, help = fmt.Sprintf("this `%c` closes nothing", s.char), "remove it, or open it before"
				if n > 0 {
					message = fmt.Sprintf("this `%c` does not close the `%c` of line %d", s.char, open[n-1].char, open[n-1].line)
					help = fmt.Sprintf("write `%c` for what was opened last", map[rune]rune{'{': '}', '[': ']'}[open[n-1].char])
				}
			}
		}
	})
	if ok || len(open) == 0 {
		return at, message, help, ok
	}
	last := open[len(open)-1]
	return last, fmt.Sprintf("this `%c` is never closed", last.char), fmt.Sprintf("write `%c` where it ends", map[rune]rune{'{': '}', '[': ']'}[last.char]), true
}

var key = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:- +)*[^\s#'"{\[][^#'"{\[]*:(?: |$)`) })

// misplaced finds the first line whose indentation goes with none of the lines above; ok is false where all do.
func (f *File) misplaced() (line int, message, help string, ok bool) {
	type level struct{ indent, line int }
	levels := []level{{0, 1}}
	depth := map[int]int{} // brackets that are open at a line's end
	open := 0
	f.scan(func(s spot) {
		switch s.char {
		case '{', '[':
			open++
		case '}', ']':
			open = max(0, open-1)
		}
		depth[s.line] = open
	})
	above, inside := "", 0 // the last line that counts, and brackets open before this one
	bare := 0              // line of a mapping that stands where a list goes on
	for i, text := range f.lines {
		trimmed := strings.TrimSpace(text)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") || trimmed == "---" {
			continue
		}
		within := inside > 0
		if d, seen := depth[i+1]; seen {
			inside = d
		}
		if within {
			continue
		}
		at := indent(text)
		top := levels[len(levels)-1]
		switch {
		case at > top.indent:
			if above != "" && strings.Contains(above, ": ") && key().MatchString(trimmed) && !strings.HasSuffix(above, ":") && !endsOpen(above) {
				return i + 1, fmt.Sprintf("this line is indented by %d, and the line above, which has its value already, by %d", at, top.indent),
					fmt.Sprintf("indent it by %d, as its neighbours are", top.indent), true
			}
			levels = append(levels, level{at, i + 1})
			if !strings.HasPrefix(trimmed, "-") && strings.HasSuffix(above, ":") && !strings.HasPrefix(above, "-") {
				bare = i + 1
			}
		case at < top.indent:
			for len(levels) > 1 && levels[len(levels)-1].indent > at {
				levels = levels[:len(levels)-1]
			}
			if levels[len(levels)-1].indent != at {
				return i + 1, fmt.Sprintf("this line is indented by %d, which goes with no line above: those are indented by %d and %d", at, levels[len(levels)-1].indent, top.indent),
					fmt.Sprintf("lines of one mapping or list are indented alike, by %d as line %d is", top.indent, top.line), true
			}
			if strings.HasPrefix(trimmed, "- ") && bare > 0 && at < indent(f.Line(bare)) && f.Line(bare-1) != "" && indent(f.Line(bare-1)) == at && bare == i {
				return bare, "this line has no dash, and the list goes on below it", "write `- " + strings.TrimSpace(f.Line(bare)) + "`", true
			}
		}
		above = trimmed
	}
	return 0, "", "", false
}

// endsOpen tells whether a line's value goes on in the next: a block scalar, or a flow value that is not closed.
func endsOpen(line string) bool { return openEnd().MatchString(line) }

var openEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[|>][+-]?\d*$|[{\[,]$`) })

// laidOut reports brackets and indentation, where these are what keeps the text from being read.
func (f *File) laidOut(stopped diag.Range, reason string, list *diag.List) bool {
	if at, message, help, is := f.unclosed(); is {
		list.Errorf("yaml-syntax", diag.Range{File: f.Path, Line: at.line, Col: at.col, EndLine: at.line, EndCol: at.col + 1}, "%s", message).
			Because(stopped, "the YAML reader stopped here: %s", reason).Helped("%s", help)
		return true
	}
	if line, message, help, is := f.misplaced(); is {
		text := f.Line(line)
		list.Errorf("yaml-syntax", diag.Range{File: f.Path, Line: line, Col: indent(text) + 1, EndLine: line, EndCol: len([]rune(text)) + 1}, "%s", message).
			Because(stopped, "the YAML reader stopped here: %s", reason).Helped("%s", help)
		return true
	}
	return false
}
