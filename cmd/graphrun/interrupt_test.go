//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// An interrupted answer ends with what there is of it.
func TestInterrupt(t *testing.T) {
	path, why := realModel()
	if why != "" {
		t.Skip(why)
	}
	c := exec.Command("graphrun", "run", "-c", path, "--raw", "-p", "Once upon a time", "-n", "0")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	first := make([]byte, 1)
	_, err = io.ReadFull(out, first)
	require.NoError(t, err, "%s", &stderr)
	require.NoError(t, c.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	var failed *exec.ExitError
	require.ErrorAs(t, c.Wait(), &failed)
	require.Equal(t, exitInterrupted, failed.ExitCode(), "%s", &stderr)
	require.True(t, bytes.HasSuffix(rest, []byte("\n")))
	require.Contains(t, stderr.String(), "; interrupted]")
}

// Nobody waits for a pipe that says nothing: the interrupt ends that too.
func TestInterruptWhileReading(t *testing.T) {
	path, why := realModel()
	if why != "" {
		t.Skip(why)
	}
	c := exec.Command("graphrun", "run", "-c", path)
	in, err := c.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	var stderr bytes.Buffer
	c.Stderr = &stderr
	require.NoError(t, c.Start())
	// The handler is there when the first byte has been taken from the pipe's buffer; a write larger than the buffer
	// returns only then.
	_, err = in.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, c.Process.Signal(os.Interrupt))
	var failed *exec.ExitError
	require.ErrorAs(t, c.Wait(), &failed)
	require.Equal(t, exitInterrupted, failed.ExitCode())
	require.Equal(t, "graphrun: interrupted\n", stderr.String())
}
