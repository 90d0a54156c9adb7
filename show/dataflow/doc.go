// Package dataflow is a model as a picture needs it: boxes inside boxes with edges between them, made of the parsed graph
// files and, where there is one, of the plan, which knows what is there, how often, in which class and of which shape.
// A repeat is one box. It decides nothing and places nothing: package layout places, the writers draw.
package dataflow
