// Package show draws the dataflow of a model: as Mermaid or Graphviz text, as one SVG picture, or as one HTML page that
// folds, searches and tells of each box, without a network. It draws what package dataflow found and decides nothing.
package show
