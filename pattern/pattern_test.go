package pattern

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		stars, segs   []string
		named         map[string]string
		no            bool
	}{
		{pattern: "lm_head.weight", name: "lm_head.weight"},
		{pattern: "lm_head.weight", name: "lm_headxweight", no: true},
		{pattern: "a.*.b", name: "a.x.b", stars: []string{"x"}},
		{pattern: "a.*.b", name: "a..b", stars: []string{""}},
		{pattern: "a.*.b", name: "a.x.y.b", no: true},
		{pattern: "a.**.b", name: "a.b", segs: []string{""}},
		{pattern: "a.**.b", name: "a.x.y.b", segs: []string{"x.y"}},
		{pattern: "a.**.b", name: "axb", no: true},
		{pattern: "a.**.b", name: "a.xb", no: true},
		{pattern: "**.b", name: "b", segs: []string{""}},
		{pattern: "**.b", name: "x.b", segs: []string{"x"}},
		{pattern: "**.b", name: "xb", no: true},
		{pattern: "a.**", name: "a", segs: []string{""}},
		{pattern: "a.**", name: "a.x.y", segs: []string{"x.y"}},
		{pattern: "a.**", name: "ax", no: true},
		{pattern: "**", name: "a.b.c", segs: []string{"a.b.c"}},
		{pattern: "**", name: "", segs: []string{""}},
		{pattern: "**.*norm.weight", name: "model.layers.0.input_layernorm.weight", segs: []string{"model.layers.0"}, stars: []string{"input_layer"}},
		{pattern: "**.*norm.weight", name: "norm.weight", segs: []string{""}, stars: []string{""}},
		{pattern: "model.layers.{n}.**", name: "model.layers.12.mlp.up_proj.weight", segs: []string{"mlp.up_proj.weight"}, named: map[string]string{"n": "12"}},
		{pattern: "model.layers.{n}.x", name: "model.layers..x", no: true},
		{pattern: "**.mlp.experts.{e}.*.*", name: "model.layers.0.mlp.experts.3.up_proj.scales", segs: []string{"model.layers.0"}, stars: []string{"up_proj", "scales"}, named: map[string]string{"e": "3"}},
		{pattern: "l.{a,b.c,}.w", name: "l.b.c.w"},
		{pattern: "l.{a,b.c,}.w", name: "l..w"},
		{pattern: "l.{a,b.c,}.w", name: "l.c.w", no: true},
		{pattern: "{q,k,v}_conv", name: "v_conv"},
		{pattern: "a.**.**.b", name: "a.x.b", segs: []string{"x", ""}},
		{pattern: "a(.)+[b]", name: "a(.)+[b]"},
		{pattern: "é*", name: "étude", stars: []string{"tude"}},
		{pattern: "*\n*", name: "a\nb", stars: []string{"a", "b"}},
	} {
		t.Run(c.pattern+" on "+c.name, func(t *testing.T) {
			p, err := Compile(c.pattern)
			require.NoError(t, err)
			got, ok := p.Match(c.name)
			require.Equal(t, !c.no, ok)
			require.Equal(t, !c.no, p.Matches(c.name))
			sameAsReference(t, p, c.name)
			if ok {
				require.Equal(t, c.name, got.Name)
				require.Equal(t, c.stars, got.Stars)
				require.Equal(t, c.segs, got.Segments)
				require.Equal(t, c.named, got.Named)
				require.True(t, strings.HasPrefix(c.name, p.Prefix()))
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct {
		pattern string
		column  int
		message string
	}{
		{"", 1, "empty"},
		{"a.{e", 3, "never closed"},
		{"a.{e{b}", 3, "never closed"},
		{"é.e}", 4, "no `{`"},
		{"a.{}", 4, "names no capture"},
		{"a.{1x}", 4, "names no capture"},
		{"a.{x y}", 4, "names no capture"},
		{"{e}.{e}", 5, "captured twice"},
		{"a.***", 5, "3 stars"},
		{"{a,b*}", 5, "plain texts"},
		{strings.Repeat("a", MaxLength+1), MaxLength + 1, "at most"},
		{"a\xff", 1, "UTF-8"},
	} {
		t.Run(c.message, func(t *testing.T) {
			_, err := Compile(c.pattern)
			var e *Error
			require.True(t, errors.As(err, &e), "%v", err)
			require.Equal(t, c.column, e.Column)
			require.Contains(t, e.Message, c.message)
		})
	}
}

func TestFill(t *testing.T) {
	for _, c := range []struct{ source, target, name, want, err string }{
		{source: "language_model.**", target: "**", name: "language_model.model.norm.weight", want: "model.norm.weight"},
		{source: "model.layers.{n}.**", target: "mtp.**", name: "model.layers.4.mlp.up.weight", want: "mtp.mlp.up.weight"},
		{source: "**.mlp.experts.{e}.*.*", target: "**.mlp.switch_mlp.*.*", name: "mlp.experts.0.up.scales", want: "mlp.switch_mlp.up.scales"},
		{source: "**.*_blocks", target: "**.*.weight", name: "a.b_blocks", want: "a.b.weight"},
		{source: "a.{x,y}.b", target: "a.{x,y}.b", name: "a.y.b", want: "a.y.b"},
		{source: "blk.{i}.q.*", target: "l.{i}.q_proj.*", name: "blk.7.q.bias", want: "l.7.q_proj.bias"},
		{source: "a.*", target: "b.*.*", name: "a.c", err: "column 5"},
		{source: "a.*", target: "b.**", name: "a.c", err: "no `**` left"},
		{source: "a.*", target: "b.{i}", name: "a.c", err: "captures no {i}"},
		{source: "a.*", target: "b.{c,d}", name: "a.c", err: "alternatives"},
		{source: "a.*", target: "b.{", name: "a.c", err: "never closed"},
	} {
		t.Run(c.source+" to "+c.target, func(t *testing.T) {
			p, err := Compile(c.source)
			require.NoError(t, err)
			err = p.CheckTarget(c.target)
			m, ok := p.Match(c.name)
			require.True(t, ok)
			got, fillErr := Fill(c.target, m)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.Error(t, fillErr)
				return
			}
			require.NoError(t, err)
			require.NoError(t, fillErr)
			require.Equal(t, c.want, got)
		})
	}
}

func TestIndex(t *testing.T) {
	x := NewIndex([]string{"b.1", "a.2", "a.1", "b.1", "ab"})
	require.Equal(t, []string{"a.1", "a.2", "ab", "b.1"}, x.Names())
	p, err := Compile("a.*")
	require.NoError(t, err)
	found := x.Find(p)
	require.Len(t, found, 2)
	require.Equal(t, "a.2", found[1].Name)
	require.True(t, x.Any(p))
	p, err = Compile("**.3")
	require.NoError(t, err)
	require.False(t, x.Any(p))
	require.Empty(t, x.Find(p))
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"a.**.b", "**.mlp.experts.{e}.*.*", "{a,b.c,}", "***", "a.{", "**.**", "*{e}**", "**b**.{n}*", ".**.", "a**.b", "**.*.**"} {
		f.Add(s, "a.b.mlp.experts.1.x.y")
		f.Add(s, "a.b")
		f.Add(s, "aé..b.")
	}
	f.Fuzz(func(t *testing.T, s, name string) {
		p, err := Compile(s)
		if err != nil {
			return
		}
		sameAsReference(t, p, name)
		if c, ok := p.Match(name); ok {
			if !strings.HasPrefix(name, p.Prefix()) {
				t.Fatalf("%q matches %q without its prefix %q", s, name, p.Prefix())
			}
			if got, err := Fill(s, c); err != nil || got != name {
				t.Fatalf("the pattern itself as a target gave %q, %v", got, err)
			}
		}
	})
}

// TestBounded: a pattern that could be matched in very many ways is no trap.
func TestBounded(t *testing.T) {
	p, err := Compile(strings.Repeat("*x**y", 200) + "z*")
	require.NoError(t, err)
	require.False(t, p.Matches(strings.Repeat("xy", 1000)))
}

// sameAsReference holds a match to a regular expression that says the same.
func sameAsReference(t *testing.T, p *Pattern, name string) {
	t.Helper()
	if !utf8.ValidString(name) {
		return
	}
	found := reference(p).FindStringSubmatch(name)
	got, ok := p.Match(name)
	require.Equal(t, found != nil, ok, "%s on %q", p, name)
	if !ok {
		return
	}
	stars, segments := got.Stars, got.Segments
	for i, g := range p.groups {
		text := ""
		switch g.kind {
		case star:
			text, stars = stars[0], stars[1:]
		case any:
			text, segments = segments[0], segments[1:]
		default:
			text = got.Named[g.name]
		}
		require.Equal(t, found[i+1], text, "%s on %q", p, name)
	}
}

func reference(p *Pattern) *regexp.Regexp {
	var b strings.Builder
	dot, swallow := false, false
	for i, t := range p.tokens {
		switch t.kind {
		case text:
			body := t.text
			if swallow { // a `**` before this took the dot with it
				body = body[1:]
			}
			swallow = false
			if dot = strings.HasSuffix(body, "."); dot {
				body = body[:len(body)-1]
			}
			b.WriteString(regexp.QuoteMeta(body))
			if next := i + 1; dot && (next == len(p.tokens) || p.tokens[next].kind != any || p.dotAfter(next)) {
				b.WriteString(`\.`)
				dot = false
			}
			continue
		case any:
			switch {
			case p.dotAfter(i):
				b.WriteString(`(?:(.+)\.)?`)
				swallow = true
			case dot:
				b.WriteString(`(?:\.(.+))?`)
			default:
				b.WriteString(`(.*)`)
			}
		case star:
			b.WriteString(`([^.]*)`)
		case capture:
			b.WriteString(`([^.]+)`)
		case choice:
			quoted := make([]string, len(t.choices))
			for j, c := range t.choices {
				quoted[j] = regexp.QuoteMeta(c)
			}
			b.WriteString("(?:" + strings.Join(quoted, "|") + ")")
		}
		dot = false
	}
	return regexp.MustCompile(`\A(?s:` + b.String() + `)\z`)
}
