// Command gen writes the operations of package mlx from mlx-c's headers: C shims, the Go methods over them, and the
// stub face of builds without MLX. `go generate ./mlx` runs it; what it writes is checked in.
//
// A shim makes the mlx-c call and, when that fails, takes the thread's error message in the same call from Go, so that
// no other thread can come between. Everything that Go passes is a number or a pointer to numbers: integers are 64 bits
// wide in the shims' signatures and checked there, arrays and streams are handles.
//
// gen never guesses: a function of the headers whose signature it does not know is an error, unless skipped by name.
package main
