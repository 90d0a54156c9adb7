package source

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/diag"
)

// A mistake is one of the usual ways to write YAML that yaml.v3 cannot read, found in the text around the line that it
// names (it gives no column).
type mistake struct {
	pattern *regexp.Regexp // group 1 is where the caret goes
	message string
	help    string
}

// mistakes are made at the first error: a process that finds none needs none of these expressions.
var mistakes = sync.OnceValue(func() []mistake {
	return []mistake{
		{regexp.MustCompile(`^( *\t)`), "a tab indents this line; YAML wants spaces", "replace the tab by spaces"},
		{regexp.MustCompile(`[{,:] *([A-Za-z_][\w.]*\([^'"]*,[^'"]*\))`), "an unquoted call with a comma: inside braces the comma ends the value", "quote the expression: '%s'"},
		{regexp.MustCompile(`: +((?:[^'"\[{#:]|:\S)*\? [^'"#]*: [^'"#,}]*)`), "an unquoted `? :`: YAML reads the colon as a key's", "quote the expression: '%s'"},
		{regexp.MustCompile(`[{,:] *([A-Za-z_][\w.]*\[[^\]'"]*\][^,}'"]*)`), "an unquoted list or index: inside braces a bracket begins a list", "quote the expression: '%s'"},
		{regexp.MustCompile(`[:,{] +(\*[^\s,}]*)`), "a leading `*` is read as an alias", "quote it: '%s'"},
		{regexp.MustCompile(`[:,{] +(&[^\s,}]*)`), "a leading `&` is read as an anchor", "quote it: '%s'"},
		{regexp.MustCompile(`[:,{] +([%@` + "`" + `][^\s,}]*)`), "this character cannot begin a plain value", "quote it: '%s'"},
		{regexp.MustCompile(`[{] *([A-Za-z_]\w* *, *[A-Za-z_]\w* *): `), "unquoted results: inside braces the comma ends a key", "quote them: '%s'"},
	}
})

// syntaxError says at which column and why, as far as the text tells.
func (f *File) syntaxError(err error, list *diag.List) {
	line, reason := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(`line (\d+): (.*)`).FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
		reason = m[2]
	}
	line = max(1, min(line, len(f.lines)))
	if m := regexp.MustCompile(`unknown anchor '([^']*)' referenced`).FindStringSubmatch(reason); m != nil {
		for i := range f.lines {
			if at := strings.Index(f.lines[i], "*"+m[1]); at >= 0 {
				col := len([]rune(f.lines[i][:at])) + 1
				list.Errorf("yaml-syntax", diag.Range{File: f.Path, Line: i + 1, Col: col, EndLine: i + 1, EndCol: col + 1 + len([]rune(m[1]))},
					"*%s is read as an alias, and nothing has that anchor", m[1]).Helped("quote it: '*%s'", m[1])
				return
			}
		}
	}
	// yaml.v3 often names the line before or after the one at fault.
	for _, at := range []int{line, line + 1, line - 1} {
		for _, m := range mistakes() {
			found := m.pattern.FindStringSubmatchIndex(f.Line(at))
			if found == nil {
				continue
			}
			text := f.Line(at)
			col := len([]rune(text[:found[2]])) + 1
			end := len([]rune(text[:found[3]])) + 1
			help := strings.ReplaceAll(m.help, "%s", strings.TrimSpace(text[found[2]:found[3]]))
			list.Errorf("yaml-syntax", diag.Range{File: f.Path, Line: at, Col: col, EndLine: at, EndCol: end}, "%s", m.message).
				Helped("%s", help).Because(diag.Range{File: f.Path, Line: line, Col: 1, EndLine: line, EndCol: 1}, "the YAML reader stopped here: %s", reason)
			return
		}
	}
	if f.laidOut(diag.Range{File: f.Path, Line: line, Col: 1, EndLine: line, EndCol: 1}, reason, list) {
		return
	}
	col := indent(f.Line(line)) + 1
	list.Errorf("yaml-syntax", diag.Range{File: f.Path, Line: line, Col: col, EndLine: line, EndCol: len([]rune(f.Line(line))) + 1}, "not YAML: %s", reason)
}
