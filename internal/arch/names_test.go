package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// families are names of models that Go code must not know: what is particular to one is in graph files and other data.
var families = regexp.MustCompile(`(?i)llama|qwen|gemma|mistral|mixtral|\bphi[-_0-9]*\b|gpt[-_]?oss|deepseek|smollm|falcon|cohere|olmo|starcoder|` +
	`chatglm|granite|kimi|minimax|nemotron|telechat|longcat|hunyuan|ernie|internlm|baichuan|mamba|rwkv`)

// otherWords have such a name in them and mean something else: kinds of rotary scaling, as config.json writes them.
var otherWords = regexp.MustCompile(`^(llama3|deepseek_yarn|telechat3-yarn)$`)

// Identifiers and words in quotes are looked at. Sentences are for people, as documentation that says where a formula
// comes from.
func TestNoModelIsKnownByItsName(t *testing.T) {
	files, set := sources(t)
	for _, f := range files {
		if strings.Contains(f.pkg+"/", "/testfile/") { // makes files for tests
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			word := ""
			switch n := n.(type) {
			case *ast.Ident:
				word = n.Name
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					word, _ = strconv.Unquote(n.Value)
				}
			}
			if word != "" && !strings.ContainsAny(word, " \n") && families.MatchString(word) && !otherWords.MatchString(word) {
				t.Errorf("%s: %q names a family of models; put what is particular to it into a graph file or another data file",
					set.Position(n.Pos()), word)
			}
			return true
		})
	}
}
