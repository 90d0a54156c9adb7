// Command graphrun composes neural-network graphs from YAML and runs them on MLX.
//
// Its exit codes: 0 all is well; 1 there are findings, in a graph file, between it and a checkpoint, or by doctor;
// 2 it could not do what was asked; 130 it was interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/model"
)

const (
	exitOK          = 0
	exitFindings    = 1
	exitFailed      = 2
	exitInterrupted = 130
)

type commands struct {
	Run      runCmd      `cmd:"" help:"Answer a prompt with a checkpoint."`
	Validate validateCmd `cmd:"" help:"Check graph files, and what they make of a config or a checkpoint. Needs no MLX."`
	Explain  explainCmd  `cmd:"" help:"Show what was decided for a config or checkpoint: classes, programs, memory. Needs no MLX."`
	Diff     diffCmd     `cmd:"" help:"Tell in what two plans differ. Exit code 0: the same; 1: they differ; 2: one cannot be made."`
	Compare  compareCmd  `cmd:"" help:"Run two graphs on one input and show the first value that differs. Exit code 0: equal; 1: they differ."`
	Show     showCmd     `cmd:"" help:"Draw the dataflow of a model by block: Mermaid, Graphviz, SVG or one HTML page."`
	Weights  weightsCmd  `cmd:"" help:"List a checkpoint's tensors before and after the view, and who uses them. Needs no MLX."`
	Init     initCmd     `cmd:"" help:"Write a variant or a model file for a checkpoint, to start from. Needs no MLX."`
	Fmt      fmtCmd      `cmd:"" help:"Write graph files in their canonical form, comments kept."`
	Lsp      lspCmd      `cmd:"" help:"Serve an editor: findings, hovering, completion, definitions, formatting."`
	Schema   schemaCmd   `cmd:"" help:"Write the JSON Schema of graph files, for editors."`
	Ops      opsCmd      `cmd:"" help:"List the operators."`
	Classes  classesCmd  `cmd:"" help:"List the classes."`
	Doc      docCmd      `cmd:"" help:"Explain an operator, a class, a state, a kind of port, a block or a model."`
	Fuse     fuseCmd     `cmd:"" help:"Write a checkpoint with LoRA adapters added to its weights."`
	Quantize quantizeCmd `cmd:"" help:"Write a checkpoint with its weights in another storage: trellis codes or affine."`
	Bench    benchCmd    `cmd:"" help:"Measure tokens per second."`
	Doctor   doctorCmd   `cmd:"" help:"Show what this build is linked with and runs on, and what is wrong with it."`
	Version  versionCmd  `cmd:"" help:"Show the version."`
	Help     helpCmd     `cmd:"" help:"Explain a command or the code of a diagnostic."`
}

// terminal is where a command reads and writes.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	started  time.Time
}

// exit is an error that has been told already, or that only sets the exit code.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	os.Exit(execute(os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr, started: time.Now()}))
}

func execute(args []string, t terminal) int {
	stopped := -1 // by kong itself, after --help
	parser, err := kong.New(grammar(args), kong.Name("graphrun"), kong.Writers(t.out, t.err), kong.Exit(func(code int) { stopped = code }),
		kong.Description("Runs neural-network graphs that are written in YAML, on MLX."), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"codes": codesHint})
	if err != nil {
		return t.fail(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if stopped >= 0 {
		return stopped
	}
	if err != nil {
		t.say("graphrun: %v", err)
		if hint := misplaced(err); hint != "" {
			t.say("%s", hint)
		}
		t.say("graphrun --help shows the commands and their flags")
		return exitFailed
	}
	collectRarely(k.Selected().Name)
	ctx, stop := interruptible()
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	return t.fail(k.Run(t, parser))
}

// misplaced tells a checkpoint that is named without its flag.
func misplaced(err error) string {
	var bad *kong.ParseError
	if !errors.As(err, &bad) || bad.Context.Selected() == nil {
		return ""
	}
	arg, is := strings.CutPrefix(err.Error(), "unexpected argument ")
	if _, missing := os.Stat(arg); !is || missing != nil {
		return ""
	}
	for _, f := range bad.Context.Selected().Flags {
		if f.Name == "checkpoint" {
			return "a checkpoint is named by its flag: graphrun " + bad.Context.Selected().Name + " --checkpoint " + arg
		}
	}
	return ""
}

// grammar is what the arguments are parsed by: where they begin with a command that asks nothing of the others, that alone.
// To read the flags of all takes as long as composing a small model.
func grammar(args []string) any {
	all := reflect.TypeFor[commands]()
	for i := range all.NumField() {
		if f := all.Field(i); len(args) > 0 && strings.ToLower(f.Name) == args[0] && f.Name != "Help" {
			return reflect.New(reflect.StructOf([]reflect.StructField{f})).Interface()
		}
	}
	return &commands{}
}

// collectRarely lets the memory of a command that ends soon grow before it is collected: to read files and compose takes
// some tens of MiB. The others keep to Go's default.
func collectRarely(command string) {
	if !slices.Contains([]string{"run", "bench", "lsp"}, command) && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// fail tells an error and gives the exit code.
func (t terminal) fail(err error) int {
	var code exit
	var found *model.Findings
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &found):
		t.findings(found.List, found.Source)
		return exitFindings
	case errors.Is(err, context.Canceled):
		t.say("graphrun: interrupted")
		return exitInterrupted
	}
	t.say("graphrun: %v", err)
	return exitFailed
}

func (t terminal) say(format string, args ...any) { fmt.Fprintf(t.err, format+"\n", args...) }

// findings are written to standard error, with colours where that is a terminal.
func (t terminal) findings(list []*diag.Diagnostic, source diag.SourceLine) {
	_ = diag.Fprint(t.err, list, source, style(t.err))
}
