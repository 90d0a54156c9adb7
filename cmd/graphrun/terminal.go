package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/graphrun/graphrun/diag"
)

// interruptible is a context that Ctrl-C and SIGTERM cancel. A second one ends the process as usual.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// screen is the width of the terminal that w is; ok is false where it is none.
func screen(w any) (columns int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 20 {
		columns = 80
	}
	return columns, true
}

// style has colours on a terminal, unless NO_COLOR is set (no-color.org).
func style(w io.Writer) diag.Style {
	columns, ok := screen(w)
	return diag.Style{Color: ok && os.Getenv("NO_COLOR") == "", Width: columns}
}
