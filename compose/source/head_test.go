package source

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/diag"
)

// TestHead: what Head reads stands as Parse has it; what is not plain it leaves to that.
func TestHead(t *testing.T) {
	for text, plain := range map[string]bool{
		"graphrun: v1\nname: a\nkind: model\nlet: {x: 1}\n":                        true,
		"# comment\nname:   a b  \r\n\nkind: config.string('x') == 'y'\nlet: {}\n": true,
		"doc: >-\n  name: b\n  kind: c\nname: a\nkind: model":                      false, // no line behind them
		"doc: >-\n  name: b\n  kind: c\nname: a\nkind: model\n\n":                  true,
		"name: a\nkind: model\n  and more\n":                                       false,
		"name: 'a'\nkind: model\nlet: {}\n":                                        false,
		"name: a # so\nkind: model\nlet: {}\n":                                     false,
		"name: [a]\nkind: model\nlet: {}\n":                                        false,
		"name:\nkind: model\nlet: {}\n":                                            false,
		"name: a\nlet: {}\n":                                                       false,
	} {
		f, ok := Head("f.yaml", []byte(text), "name", "kind")
		require.Equal(t, plain, ok, "%q", text)
		if !ok {
			continue
		}
		var list diag.List
		whole := Parse("f.yaml", []byte(text), &list)
		require.Empty(t, list.Sorted(), "%q", text)
		var want []string
		for i := 0; i < len(whole.Root.Content); i += 2 {
			for _, n := range whole.Root.Content[i : i+2] {
				if key := whole.Root.Content[i].Value; key == "name" || key == "kind" {
					want = append(want, n.Value+" "+n.ShortTag()+" "+whole.Range(n).String())
				}
			}
		}
		var have []string
		for _, n := range f.Root.Content {
			have = append(have, n.Value+" "+n.ShortTag()+" "+f.Range(n).String())
		}
		require.Equal(t, strings.Join(want, "\n"), strings.Join(have, "\n"), "%q", text)
	}
}
