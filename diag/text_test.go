package diag

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func lines(text string) SourceLine {
	all := strings.Split(text, "\n")
	return func(file string, n int) (string, bool) {
		if file == "" || n > len(all) {
			return "", false
		}
		return all[n-1], true
	}
}

func at(line, col, endCol int) Range { return Range{"a.yaml", line, col, line, endCol} }

func TestFprint(t *testing.T) {
	var l List
	l.Errorf("unknown-parameter", at(2, 5, 8), "rms_norm has no parameter epz").In("model.layers.0").
		Because(at(1, 1, 5), "declared here").Helped("did you mean eps?").Helped("two\nlines")
	l.Warnf("no-place", Range{}, "nowhere")
	l.Errorf("no-line", Range{File: "config.json"}, "somewhere")
	var b bytes.Buffer
	require.NoError(t, Fprint(&b, l.all, lines("name: x\n- x: epz"), Style{}))
	require.Equal(t, `a.yaml:2:5: error[unknown-parameter]: rms_norm has no parameter epz
 2 | - x: epz
   |     ^^^
  in: model.layers.0
  note: a.yaml:1:1: declared here
  1 | name: x
    | ^^^^
  help: did you mean eps?
  help: two
    lines

warning[no-place]: nowhere

config.json: error[no-line]: somewhere

2 errors, 1 warning
`, b.String())
}

func TestFprintOfNothing(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Fprint(&b, nil, nil, Style{}))
	require.Empty(t, b.String())
}

func TestColors(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Fprint(&b, []*Diagnostic{{Code: "c", Message: "m", At: at(1, 1, 2)}}, lines("x"), Style{Color: true}))
	require.Equal(t, "\x1b[1ma.yaml:1:1:\x1b[0m \x1b[1;31merror[c]:\x1b[0m m\n \x1b[1;34m1 |\x1b[0m x\n \x1b[1;34m  |\x1b[0m "+
		"\x1b[1;31m^\x1b[0m\n\n1 error\n", b.String())
}

func TestUnderline(t *testing.T) {
	for name, c := range map[string]struct {
		line   string
		r      Range
		room   int
		text   string
		before int
		length int
	}{
		"plain":               {"a bcd e", at(1, 3, 6), 0, "a bcd e", 2, 3},
		"wide characters":     {"值: 模型 x", at(1, 4, 6), 0, "值: 模型 x", 4, 4},
		"after wide":          {"模型 x", at(1, 4, 5), 0, "模型 x", 5, 1},
		"combining":           {"e\u0301 x", at(1, 4, 5), 0, "e\u0301 x", 2, 1},
		"tab":                 {"\tx", at(1, 2, 3), 0, "    x", 4, 1},
		"tab inside":          {"ab\tx", at(1, 3, 5), 0, "ab  x", 2, 3},
		"no length":           {"abc", at(1, 2, 2), 0, "abc", 1, 1},
		"past the end":        {"abc", at(1, 9, 12), 0, "abc", 3, 1},
		"end past the end":    {"abc", at(1, 2, 99), 0, "abc", 1, 2},
		"several lines":       {"ab: |", Range{"f", 1, 5, 3, 2}, 0, "ab: |", 4, 1},
		"column zero":         {"abc", at(1, 0, 0), 0, "abc", 0, 1},
		"empty line":          {"", at(1, 1, 1), 0, "", 0, 1},
		"escape sequence":     {"a\x1b[31mb", at(1, 1, 2), 0, "a␛[31mb", 0, 1},
		"direction":           {"a\u202eb", at(1, 3, 4), 0, "a\ufffdb", 2, 1},
		"cut at both ends":    {strings.Repeat("a", 50) + "bb" + strings.Repeat("c", 50), at(1, 51, 53), 12, "…aaaabbcccc…", 5, 2},
		"cut after":           {"bb" + strings.Repeat("c", 50), at(1, 1, 3), 12, "bbcccccccc…", 0, 2},
		"cut before":          {strings.Repeat("a", 50) + "bb", at(1, 51, 53), 12, "…aaaaaaaabb", 9, 2},
		"cut inside":          {strings.Repeat("a", 50), at(1, 1, 51), 12, "aaaaaaaaaa…", 0, 10},
		"cut wide characters": {strings.Repeat("模", 50), at(1, 26, 27), 12, "…模模模模模…", 5, 2},
	} {
		t.Run(name, func(t *testing.T) {
			text, before, length := underline(c.line, c.r, c.room)
			require.Equal(t, c.text, text)
			require.Equal(t, c.before, before)
			require.Equal(t, c.length, length)
		})
	}
}

func TestMessagesCannotSteerATerminal(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Fprint(&b, []*Diagnostic{{Code: "c", Message: "key \x1b[2J\r", Path: "a\x07"}}, nil, Style{}))
	require.Equal(t, "error[c]: key ␛[2J␍\n  in: a␇\n\n1 error\n", b.String())
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, FprintJSON(&b, []*Diagnostic{{Code: "c", Severity: Warning, Message: "a <b>", At: at(1, 2, 3)}, {Code: "d", Message: "m"}}))
	require.Equal(t, `{"code":"c","severity":"warning","message":"a <b>","at":{"file":"a.yaml","line":1,"col":2,"endLine":1,"endCol":3}}
{"code":"d","severity":"error","message":"m","at":{"file":"","line":0,"col":0,"endLine":0,"endCol":0}}
`, b.String())
}

func TestGitHub(t *testing.T) {
	var b bytes.Buffer
	d := &Diagnostic{Code: "c", Message: "100%\nof it", At: Range{"a,b.yaml", 1, 2, 1, 4}, Path: "p", Help: []string{"h"}}
	d.Because(at(3, 1, 2), "there")
	require.NoError(t, FprintGitHub(&b, []*Diagnostic{d, {Code: "w", Severity: Warning, Message: "m", At: Range{"f", 1, 2, 5, 4}}, {Code: "n", Severity: Note, Message: "m"}}))
	require.Equal(t, `::error file=a%2Cb.yaml,line=1,col=2,endColumn=4,title=c::100%25%0Aof it%0Ain: p%0Anote: a.yaml:3:1: there%0Ahelp: h
::warning file=f,line=1,endLine=5,title=w::m
::notice title=n::m
`, b.String())
}
