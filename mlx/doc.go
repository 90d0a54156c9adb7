// Package mlx is the binding to Apple's MLX through mlx-c: arrays, operations, streams, compiled functions, memory.
//
// It has two faces with the same names. The native one (`-tags mlx` with cgo, as the Makefile builds) calls mlx-c; every
// other build has the same types, whose calls give ErrNoMLX. So a signature that mentions mlx.Array builds everywhere.
//
// # Errors
//
// Nothing prints, exits or panics: mlx-c's error handler is replaced before the first call, and a failing call's message
// comes back as *Error. The operations are methods of Scope and keep the first error there, so that a forward is
// written without a check per line; Scope.Err tells at the end.
//
// # Lifetimes
//
// An Array is a handle that somebody frees. What a Scope's operations make belongs to the scope, which frees it in
// batches; what the constructors make belongs to the caller. There are no finalizers. Freeing a handle is always safe
// for MLX: arrays that a lazy result still needs live on inside MLX.
//
// # Threads
//
// Since MLX 0.31.2 a stream belongs to the OS thread that made it: work that uses one runs on a Worker, which owns a
// thread, as does the default stream. A Scope is not for concurrent use. Handles may be freed on any thread.
//
// # Evaluation
//
// Operations are lazy. Eval runs what arrays need; AsyncEval only submits it. On the CPU an error inside AsyncEval can end the
// process (MLX throws it on its own thread), so use Eval there.
//
// The operations come from mlx-c's headers by `go generate` (mlx/internal/gen) and are named after them: mlx_add is Add,
// mlx_sum_axis is SumAxis, mlx_fast_rms_norm is FastRMSNorm. The package never decides anything about a model.
package mlx

//go:generate go run ./internal/gen
