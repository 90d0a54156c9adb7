// Package e2e holds the tests that go through everything: a checkpoint's headers, the composer, the engine, and
// mlx-lm's logits, bit for bit. It has no code of its own.
package e2e
