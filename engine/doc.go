// Package engine makes a plan executable: it opens the plan's tensors, builds every operator and every class once,
// and runs the plan's programs, which are flat lists of calls. It keeps the sessions' states, generates and samples
// tokens as mlx-lm 0.32.2 does, and accounts for memory before anything is opened.
//
// An engine decides nothing in a forward: B, T, B·T and S pick a program from a table by comparing integers, and the
// program runs from its first call to its last. It never reads a graph file, never chooses a class and never falls
// back to another one; what the plan does not say is an error when the engine opens.
//
// On the CPU a session records its steps of one position: calls that native primitives alone compute run again as one
// (chain.go). That changes no bit and ends where anything differs.
//
// All MLX work of an engine happens on one goroutine that is locked to one OS thread. Engines and sessions may be
// used from any goroutine; one session serves one caller at a time.
package engine
