// Package ops holds the operators, states and exact classes of graphrun, one file per family: rope is in rope.go, the
// caches in kvcache.go and rotating.go, the dense and quantised projections in dense.go and affine.go (of experts in
// experts.go), the recurrences in delta.go, ssm.go, wkv7.go and causalconv.go over what recurrent.go has for all.
//
// Each entry is complete: signature, documentation, shape and dtype inference over symbolic dims (pure, no MLX), and a
// constructor. Classes of the sig*.go files are signatures that plans are composed with; one without a constructor has no
// kernel in this build yet. A constructor decides everything; the function that it makes calls MLX in the very order in which
// mlx-lm does, so that an exact graph has mlx-lm's bits.
//
// What an operator makes on the way to its results belongs to the forward's scope. The engine lets go of it before it
// evaluates, so that MLX may reuse every buffer at its last use; a state keeps its own arrays and frees the old ones.
//
// The package registers nothing by itself, knows no model and no file format, and never reads a tensor's values.
package ops
