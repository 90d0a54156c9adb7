// Package quantize writes a checkpoint anew with some of its weights in another storage: trellis codes or MLX's affine
// layout. A plan says which; the package reads headers, chooses, lays out the new files, makes the weights and writes
// them.
//
// The source is only read. The new checkpoint is made in a folder beside its place, TARGET.partial, whose files have
// their full size from the beginning, so that a full disk is found out first. What is finished is written down with its
// checksum; an interrupted run goes on from there. The folder gets its name when everything is in it, so a checkpoint
// that is there is whole.
//
// It knows no model: patterns over tensor names stand in plans, which are data.
package quantize
