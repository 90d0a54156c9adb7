// Package tensors lists a checkpoint's tensors before and after a model's view: what each is stored as, which weights it
// gives, who uses these, what is used by nothing and what is missing. It opens no tensor.
package tensors
