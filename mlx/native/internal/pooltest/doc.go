// Package pooltest is what a test of package native's threads asks of C++: pools of many sizes with jobs of many sizes, one
// right after another. Nothing but that test takes it in.
package pooltest
