// Package adapter reads LoRA adapters: what mlx-lm writes (adapter_config.json, adapters.safetensors) and what PEFT writes
// (adapter_config.json, adapter_model.safetensors). It reads headers and settings, finds the weight of the plan that each pair of
// factors belongs to, and says how the factors are opened: a factor is a recipe, as a weight is.
//
// An adapter is taken whole or not at all. Read finds everything that is wrong with it at once.
//
// It opens no data, computes nothing and knows no model: names of weights come from plans.
package adapter
