// Package trace runs a plan and keeps every value that it computes, compares two such records value by value, and saves them
// as safetensors files: to find the first place where two graphs, two variants, or a graph and another implementation
// differ. It compares bits; which difference matters it does not say.
package trace
