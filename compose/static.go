package compose

import "github.com/graphrun/graphrun/compose/syntax"

func (c *composer) static(doc *syntax.Document) {}
