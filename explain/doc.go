// Package explain says what a plan decided, for people and as JSON: which class each port runs at which row counts and
// which line of which file won, the programs, the states, what was left out and why, the memory, and the plan's hash.
// It reads a plan and never changes or judges it; package compose decides, the rules of a project judge. It needs no MLX.
package explain
