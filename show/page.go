package show

import (
	_ "embed"
	"encoding/json"
	"html"
	"io"
	"strings"

	"github.com/graphrun/graphrun/show/dataflow"
	"github.com/graphrun/graphrun/show/layout"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/layout.js
var pageLayout string

//go:embed page/page.js
var pageJS string

// pageData is what the page's script gets.
type pageData struct {
	Name  string          `json:"name"`
	Doc   string          `json:"doc"`
	About []dataflow.Fact `json:"about"`
	Gaps  pageGaps        `json:"gaps"`
	Root  *pageNode       `json:"root"`
}

// pageGaps are the distances of package layout.
type pageGaps struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Pad    float64 `json:"pad"`
	Head   float64 `json:"head"`
	Spread float64 `json:"spread"`
}

// pageNode is a node with its size where it is a leaf or folded, and its rows.
type pageNode struct {
	*dataflow.Node
	Title    string      `json:"title"`
	Lines    []string    `json:"lines"`
	W        float64     `json:"w"`
	H        float64     `json:"h"`
	Own      bool        `json:"own,omitempty"` // its pins stand for themselves
	Grid     layout.Grid `json:"grid"`
	Children []*pageNode `json:"children,omitempty"` // in place of the node's own
}

// HTML writes one page that needs nothing else: the picture, with blocks that fold, a search, and all that is known of the
// box under the pointer.
func HTML(w io.Writer, g *dataflow.Graph) error {
	data, err := json.Marshal(pageData{
		Name: g.Name, Doc: oneLine(g.Doc), About: g.About,
		Gaps: pageGaps{layout.GapX, layout.GapY, layout.Pad, layout.Head, layout.Spread}, Root: page(g.Root),
	})
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		"{{title}}", html.EscapeString(g.Name), "{{css}}", pageCSS, "{{data}}", string(data), "{{layout}}", pageLayout, "{{js}}", pageJS,
	).WriteString(w, pageHTML)
	return err
}

func page(n *dataflow.Node) *pageNode {
	out := &pageNode{Node: n, Title: title(n), Lines: boxLines(n), Own: isEntry(n)}
	out.W, out.H = measure(n)
	if n.Kind != dataflow.Block {
		return out
	}
	out.Grid = layout.Arrange(n)
	for _, c := range n.Children {
		out.Children = append(out.Children, page(c))
	}
	return out
}
