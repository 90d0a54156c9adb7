// Package layout puts the boxes of a dataflow in rows (Sugiyama's layered drawing: longest-path ranks, barycentre order)
// and gives every box a place and every edge a path. Blocks are boxes that hold a layout of their own. It draws nothing.
package layout
