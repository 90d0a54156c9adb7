// Package model opens a checkpoint as something that answers: it reads the headers, has the plan composed, opens the
// weights, the tokenizer and the chat template, and generates text. It is the one place where these parts meet, for the
// command and for programs that embed graphrun:
//
//	m, err := model.Open(ctx, model.Options{Checkpoint: "model.gguf"})
//	…
//	defer m.Close()
//	_, err = m.Chat(ctx, []text.Message{{Role: "user", Content: "Hello"}}, model.Settings{}, func(t string) error { fmt.Print(t); return nil })
//
// It decides nothing about a model: what runs is the plan's, and settings that a checkpoint recommends for sampling
// (generation_config.json) are not taken over behind the caller's back. It never prints.
package model
