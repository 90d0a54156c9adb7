package draft

import (
	"io/fs"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
)

// change is one switch of a model file thrown: the text then, and what was done.
type change struct {
	text string
	what string
}

// switches are the booleans of a model file that could be otherwise: lets that ask the config for one, and parameters of
// blocks that a call leaves at their defaults.
func switches(text string, shipped fs.FS) []change {
	file := source.Parse(draftPath, []byte(text), &diag.List{})
	if file.Root == nil {
		return nil
	}
	var out []change
	if lets := child(file.Root, "let"); lets != nil && lets.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(lets.Content); i += 2 {
			n := lets.Content[i+1]
			if n.Kind != yaml.ScalarNode || !strings.HasPrefix(n.Value, "config.bool(") {
				continue
			}
			for _, v := range []string{"true", "false"} {
				r := file.Range(n)
				out = append(out, change{splice(text, r, v), lets.Content[i].Value + " is " + v + ", whatever the config says"})
			}
		}
	}
	seen := map[diag.Range]bool{}
	calls(file.Root, func(n *yaml.Node) {
		name := n.Content[0].Value
		at := file.Range(n.Content[1])
		if n.Style&yaml.FlowStyle == 0 || seen[at] {
			return
		}
		seen[at] = true
		at.Line, at.Col = at.EndLine, at.EndCol
		for _, p := range boolParams(shipped, name) {
			if child(n, p.name) != nil {
				continue
			}
			value := "true"
			if p.value == "true" {
				value = "false"
			}
			out = append(out, change{splice(text, at, ", "+p.name+": "+value), name + " is called with " + p.name + ": " + value})
		}
	}, map[*yaml.Node]bool{})
	return out
}

// calls finds mappings whose first key could be a callee.
func calls(n *yaml.Node, f func(*yaml.Node), seen map[*yaml.Node]bool) {
	if n == nil || seen[n] {
		return
	}
	seen[n] = true
	if n.Kind == yaml.MappingNode && len(n.Content) >= 2 && n.Content[0].Kind == yaml.ScalarNode {
		f(n)
	}
	for _, c := range n.Content {
		calls(source.Deref(c), f, seen)
	}
}

type boolParam struct{ name, value string }

// boolParams are the boolean parameters of a shipped block that have a plain default.
func boolParams(shipped fs.FS, block string) []boolParam {
	if block == "" || strings.ContainsAny(block, "/\\") {
		return nil
	}
	data, err := fs.ReadFile(shipped, "blocks/"+block+".yaml")
	if err != nil {
		return nil
	}
	var list diag.List
	file := source.Parse(block, data, &list)
	if file.Root == nil {
		return nil
	}
	doc := syntax.Parse(file, &list)
	if doc == nil {
		return nil
	}
	var out []boolParam
	for _, p := range doc.Params {
		if p.Type.Text == "bool" && p.Default != nil && slices.Contains([]string{"true", "false"}, p.Default.Node.Value) {
			out = append(out, boolParam{p.Name.Text, p.Default.Node.Value})
		}
	}
	return out
}

func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return source.Deref(n.Content[i+1])
		}
	}
	return nil
}

// splice writes something in the place of a range, which counts in characters.
func splice(text string, r diag.Range, by string) string {
	lines := strings.Split(text, "\n")
	cut := func(line, col int) int {
		at := 0
		for _, l := range lines[:line-1] {
			at += len(l) + 1
		}
		return at + len(string([]rune(lines[line-1])[:col-1]))
	}
	return text[:cut(r.Line, r.Col)] + by + text[cut(r.EndLine, r.EndCol):]
}
