//go:build deps

// Package deps holds the module's dependencies in go.mod while their users are being written.
package deps

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/ardanlabs/jinja"
	_ "github.com/dlclark/regexp2"
	_ "github.com/google/cel-go/cel"
	_ "github.com/google/cel-go/ext"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/rogpeppe/go-internal/txtar"
	_ "github.com/stretchr/testify/require"
	_ "github.com/vbauerster/mpb/v8"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/cpu"
	_ "golang.org/x/term"
	_ "golang.org/x/text/unicode/norm"
	_ "gopkg.in/yaml.v3"
)
