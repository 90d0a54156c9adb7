package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const repository = "../.."

// fenced finds code in a document: its language and text.
var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// shellWords takes a documented command apart; what the shell would fill in becomes the word `filled`.
func shellWords(line, filled string) []string {
	line = regexp.MustCompile(`"?\$\([^)]*\)"?|"?\$[A-Z]+"?`).ReplaceAllString(line, filled)
	line, _, _ = strings.Cut(line, " > ")
	line, _, _ = strings.Cut(line, " #")
	var out []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2]+m[3])
	}
	return out
}

// TestDocumentedCommands parses every command that a document shows: there are such commands and flags.
func TestDocumentedCommands(t *testing.T) {
	var files []string
	for _, glob := range []string{"*.md", "docs/*.md", "examples/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, glob))
		require.NoError(t, err)
		files = append(files, found...)
	}
	command := regexp.MustCompile(`(?m)^(?:\s*- (?:run|entry): |\s*)(?:bin/)?graphrun ([a-z].*)$`)
	shown := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, block := range fenced.FindAllStringSubmatch(string(data), -1) {
			if block[1] != "sh" && block[1] != "yaml" && block[1] != "" {
				continue
			}
			for _, m := range command.FindAllStringSubmatch(block[2], -1) {
				shown++
				var c commands
				parser, err := kong.New(&c, kong.Name("graphrun"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}), kong.Vars{"codes": codesHint})
				require.NoError(t, err)
				_, err = parser.Parse(shellWords(m[1], "filled"))
				require.NoError(t, err, "%s: graphrun %s", file, m[1])
			}
		}
	}
	require.Greater(t, shown, 10)
}

// TestWalkthrough runs the commands of README's authoring section as they are written, and holds their output to what it
// shows; an ellipsis there stands for anything.
func TestWalkthrough(t *testing.T) {
	checkpoint, why := realModel()
	if why != "" {
		t.Skip(why)
	}
	t.Chdir(repository)
	data, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(data), "\n## Write a graph file\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	output, ran := "", 0
	for _, block := range fenced.FindAllStringSubmatch(section, -1) {
		switch block[1] {
		case "sh":
			output = ""
			for _, line := range strings.Split(strings.TrimSpace(block[2]), "\n") {
				args := shellWords(line, checkpoint)
				require.Equal(t, "bin/graphrun", args[0])
				var out bytes.Buffer
				code := execute(args[1:], terminal{in: strings.NewReader(""), out: &out, err: io.Discard})
				require.LessOrEqual(t, code, exitFindings, "%s\n%s", line, &out) // compare finds that they differ
				output += out.String()
				ran++
			}
		case "":
			if output == "" {
				continue // what would be said of a mistake
			}
			for _, line := range strings.Split(strings.TrimSpace(block[2]), "\n") {
				want := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*")
				require.Regexp(t, "(?m)^ *"+want, output)
			}
			output = ""
		}
	}
	require.Greater(t, ran, 4)
}

// TestPreCommitHooks runs the hooks' commands on a right file and a wrong one.
func TestPreCommitHooks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(repository, ".pre-commit-hooks.yaml"))
	require.NoError(t, err)
	var hooks []struct {
		ID, Entry, Language, Files string
		Args                       []string
	}
	require.NoError(t, yaml.Unmarshal(data, &hooks))
	require.Len(t, hooks, 2)
	const block = "graphrun: v1\nkind: block\nname: %\nin: {x: [B]}\nnodes:\n- y: {exp: x}\nout: {y: [B]}\n"
	for _, h := range hooks {
		require.Equal(t, "golang", h.Language)
		require.Regexp(t, h.Files, "some/graphs/one.yaml")
		require.NotRegexp(t, h.Files, ".github/workflows/one.yaml")
		args := strings.Fields(h.Entry)
		require.Equal(t, "graphrun", args[0])
		run := func(name, text string) int {
			file := filepath.Join(t.TempDir(), name+".yaml")
			require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "%", name)), 0o644))
			return execute(append(append(args[1:len(args):len(args)], h.Args...), file), terminal{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
		}
		require.Equal(t, exitOK, run("good", block), h.ID)
		require.Equal(t, exitFindings, run("bad", strings.Replace(block, "{exp: x}", "{exp: [x, {a: b}", 1)), h.ID)
	}
}
