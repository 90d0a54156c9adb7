package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/text"
)

type runCmd struct {
	opening `embed:""`

	Prompt *string  `short:"p" placeholder:"TEXT" help:"What to answer; - or nothing reads it from a pipe."`
	System string   `placeholder:"TEXT" help:"A system message before the prompt."`
	Chat   bool     `xor:"form" help:"Put the prompt into the checkpoint's chat template (where there is one, this is the default)."`
	Raw    bool     `xor:"form" help:"Go on with the prompt as it stands."`
	Stop   []string `sep:"none" placeholder:"TEXT" help:"End before this text; may be repeated."`

	sampling `embed:"" group:"Sampling"`

	JSON  bool `name:"json" help:"One JSON object at the end: model, text, tokens, reason, seed, stats. Nothing is streamed."`
	Stats bool `help:"Tell times, speed and memory on standard error."`
	Quiet bool `short:"q" help:"Neither progress nor warnings nor speed."`
}

// opening are the flags of commands that open a checkpoint.
type opening struct {
	Checkpoint   string   `short:"c" required:"" placeholder:"PATH" help:"A folder with config.json and safetensors files, a .safetensors or a .gguf file."`
	Graph        string   `short:"g" placeholder:"FILE" help:"A graph file of your own, instead of the shipped one that recognises the checkpoint."`
	Force        bool     `help:"Take --graph even if it does not recognise the checkpoint."`
	Variant      []string `sep:"none" placeholder:"NAME|FILE" help:"Take a variant, which says how weights are computed with; may be repeated."`
	Exact        bool     `help:"Take no variant by default: mlx-lm's arithmetic."`
	Threads      int      `default:"0" placeholder:"N" help:"Threads of the CPU's own kernels (as many as the processors)."`
	Adapter      []string `sep:"none" placeholder:"DIR[=STRENGTH]" help:"Mount a LoRA adapter, mlx-lm's or PEFT's; =0.5 takes half of it; may be repeated: their sums are added in this order."`
	Device       string   `enum:"cpu,gpu," default:"" placeholder:"cpu|gpu" help:"Where to run; MLX's default device otherwise."`
	Context      int      `placeholder:"N" help:"Positions that prompt and answer may take together; no limit otherwise."`
	MemoryBudget size     `placeholder:"SIZE" help:"Refuse to open what would take more memory, as 6GiB, and say what takes how much."`
	PrefillStep  int      `placeholder:"N" default:"2048" help:"Prompt tokens that are processed at once (${default})."`
}

// sampling are the flags that choose tokens; without them the most likely one is taken.
type sampling struct {
	MaxTokens         int     `short:"n" default:"512" placeholder:"N" help:"Tokens to generate at most (${default}); 0: no limit."`
	Temperature       float64 `short:"t" placeholder:"X" help:"0 takes the most likely token (this is the default), 1 draws by the model's probabilities."`
	TopP              float64 `placeholder:"X" help:"Draw from the likeliest tokens that have this probability together."`
	TopK              int     `placeholder:"N" help:"Draw from the N likeliest tokens."`
	MinP              float64 `placeholder:"X" help:"Draw from tokens at least X times as likely as the likeliest."`
	RepetitionPenalty float64 `placeholder:"X" help:"Make tokens that were there less likely: 1.1."`
	RepetitionContext int     `placeholder:"N" help:"How many tokens back the penalty looks (20)."`
	Seed              *uint64 `placeholder:"N" help:"The same seed draws the same tokens."`
}

func (c *runCmd) Run(ctx context.Context, t terminal) error {
	if !mlx.Available {
		return mlx.ErrNoMLX
	}
	settings := c.settings()
	if err := settings.Check(); err != nil {
		return err
	}
	if c.Raw && c.System != "" {
		return errors.New("--system has no place in a raw prompt: write it into the prompt, or leave --raw away")
	}
	prompt, err := c.prompt(ctx, t)
	if err != nil {
		return err
	}
	m, err := c.open(ctx, t, c.Quiet, false)
	if errors.Is(err, text.ErrNoTokenizer) {
		return fmt.Errorf("%w; without one, `graphrun bench --checkpoint %s --prompt-ids FILE` runs token ids", err, c.Checkpoint)
	}
	if err != nil {
		return err
	}
	defer m.Close()
	if prompt, err = c.form(m, prompt); err != nil {
		return err
	}
	if !c.Quiet {
		t.warn(m)
	}
	progress := t.progress("reading the prompt", false, c.Quiet)
	defer progress.end()
	settings.OnProgress = func(done, total int) { progress.set(int64(done), int64(total)) }
	out := &answer{t: t, hold: c.JSON, before: progress.end}
	result, err := m.Complete(ctx, prompt, settings, out.piece)
	progress.end()
	return c.finish(t, m, result, settings, out, err)
}

// settings are the flags' values; where tokens are drawn without a seed, the seed is a random one that is told.
func (c *runCmd) settings() model.Settings {
	s := model.Settings{Stop: c.Stop, GenOptions: engine.GenOptions{
		MaxTokens: c.MaxTokens, Temperature: c.Temperature, TopP: c.TopP, TopK: c.TopK, MinP: c.MinP,
		RepetitionPenalty: c.RepetitionPenalty, RepetitionContext: c.RepetitionContext, PrefillStep: c.PrefillStep,
	}}
	switch {
	case c.Seed != nil:
		s.Seed = *c.Seed
	case c.Temperature > 0:
		s.Seed = rand.Uint64() >> 11 // exact in any JSON reader
	}
	return s
}

// maxPrompt is the most that is read of a pipe, in bytes.
const maxPrompt = 64 << 20

// prompt is the flag's text or what is piped in, there without the line end that ends it.
func (c *runCmd) prompt(ctx context.Context, t terminal) (string, error) {
	prompt := ""
	if c.Prompt != nil && *c.Prompt != "-" {
		prompt = *c.Prompt
	} else {
		if f, ok := t.in.(*os.File); ok && c.Prompt == nil {
			if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
				return "", errors.New("no prompt: give --prompt TEXT, or pipe it in")
			}
		}
		data, err := readAll(ctx, t.in)
		if err != nil {
			return "", err
		}
		prompt = strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	}
	if prompt == "" {
		return "", errors.New("the prompt is empty: give --prompt TEXT, or pipe it in")
	}
	return prompt, nil
}

// readAll reads until the end or until ctx is cancelled, which a read itself does not notice.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
		done <- read{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-done:
		switch {
		case got.err != nil:
			return nil, fmt.Errorf("reading the prompt: %w", got.err)
		case len(got.data) > maxPrompt:
			return nil, fmt.Errorf("the prompt has more than %d MiB", maxPrompt>>20)
		}
		return got.data, nil
	}
}

// form puts the prompt into the chat template, if it is to be.
func (c *runCmd) form(m *model.Model, prompt string) (string, error) {
	if c.Raw {
		return prompt, nil
	}
	if _, err := m.Tokenizer(); err != nil {
		return "", err
	}
	template, err := m.Template()
	switch {
	case err != nil:
		return "", fmt.Errorf("%w; --raw goes on with the prompt as it stands", err)
	case template == nil && !c.Chat && c.System == "":
		return prompt, nil
	case template == nil:
		return "", fmt.Errorf("%s has no chat template: a prompt goes on as it stands, without --chat and --system", c.Checkpoint)
	}
	var messages []text.Message
	if c.System != "" {
		messages = append(messages, text.Message{Role: "system", Content: c.System})
	}
	return m.Prompt(append(messages, text.Message{Role: "user", Content: prompt}))
}
