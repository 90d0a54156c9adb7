// Package compare tells in what two plans differ: ports and their classes at which rows, states, programs and their calls,
// tensors, memory. Differences that are alike are one line. It does not say which plan is better.
package compare
