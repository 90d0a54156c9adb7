package show

import (
	"fmt"
	"unicode/utf8"

	"github.com/graphrun/graphrun/show/dataflow"
)

// Widths of a character in the two sizes of text. The fonts are monospaced, so that a box can be made before it is drawn;
// a text is stretched to the width that was reckoned where a font differs.
const (
	bigChar, smallChar = 7.3, 6.2
	bigLine, smallLine = 15.0, 13.0
)

const fonts = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

// measure gives the size of a leaf, or of a block that is folded; of an open block it is the least.
func measure(n *dataflow.Node) (w, h float64) {
	lines := boxLines(n)
	for i, l := range lines {
		char := smallChar
		if i == 0 {
			char = bigChar
		}
		w = max(w, float64(utf8.RuneCountInString(l))*char)
	}
	w, h = w+22, 11+bigLine+smallLine*float64(len(lines)-1)
	switch n.Kind {
	case dataflow.State:
		h += 10 // the lid
	case dataflow.Port:
		w += 10 // the double sides
	case dataflow.Block:
		w += 18 // the fold mark
	}
	return w, h
}

// boxLines are the lines in a box: a folded block tells how much it holds.
func boxLines(n *dataflow.Node) []string {
	if n.Kind != dataflow.Block {
		return labels(n)
	}
	leaves := 0
	n.Walk(func(c *dataflow.Node, _ int) {
		if c.Kind == dataflow.Operator || c.Kind == dataflow.Port {
			leaves++
		}
	})
	plural := "s"
	if leaves == 1 {
		plural = ""
	}
	return []string{title(n), fmt.Sprintf("%d node%s inside", leaves, plural)}
}
