package show_test

import (
	"bytes"
	"context"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/show"
	"github.com/graphrun/graphrun/show/dataflow"
)

// browser finds a Chromium that can draw without a screen.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here: the page is not drawn")
	return ""
}

// visit opens a page and gives what the browser writes.
func visit(t *testing.T, url string, more ...string) []byte {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1400,1200", "--user-data-dir=" + t.TempDir()}, more...)
	cmd := exec.CommandContext(ctx, browser(t), append(args, url)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	require.NoError(t, err)
	return out
}

func pageFile(t *testing.T, g *dataflow.Graph) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, show.Write(&b, g, "html"))
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	return "file://" + file
}

// TestPage: the script runs to its end and draws every box; a search opens the folded blocks of what it finds, and no other.
func TestPage(t *testing.T) {
	g := graph(t, true)
	url := pageFile(t, g)
	whole := string(visit(t, url, "--dump-dom"))
	require.Contains(t, whole, `data-ready="yes"`)
	g.Root.Walk(func(n *dataflow.Node, _ int) { require.Contains(t, whole, ` id="`+n.ID+`"`, n.Name) })
	found := string(visit(t, url+"#fold&find=mlp", "--dump-dom"))
	require.Contains(t, found, "1 of 1")
	require.Contains(t, found, ">mlp</text>")
	require.Less(t, strings.Count(found, `class="leaf `), strings.Count(whole, `class="leaf `), "the other blocks are folded")
	samePlaces(t, g, whole)
}

// samePlaces: the page's script puts the boxes where the SVG has them.
func samePlaces(t *testing.T, g *dataflow.Graph, page string) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, show.Write(&b, g, "svg"))
	want, got := boxes(t, b.String()), boxes(t, page)
	require.NotEmpty(t, want)
	require.Len(t, got, len(want))
	for i := range want {
		require.InDeltaSlice(t, want[i], got[i], 0.11)
	}
}

var boxPattern = regexp.MustCompile(`<rect class="box" x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"`)

func boxes(t *testing.T, page string) [][]float64 {
	t.Helper()
	var out [][]float64
	for _, m := range boxPattern.FindAllStringSubmatch(page, -1) {
		box := make([]float64, 4)
		for i := range box {
			x, err := strconv.ParseFloat(m[i+1], 64)
			require.NoError(t, err)
			box[i] = x
		}
		out = append(out, box)
	}
	return out
}

// TestScreenshot draws the page; GRAPHRUN_SCREENSHOT=FILE keeps the picture for a person to look at.
func TestScreenshot(t *testing.T) {
	file := os.Getenv("GRAPHRUN_SCREENSHOT")
	if file == "" {
		file = filepath.Join(t.TempDir(), "page.png")
	}
	visit(t, pageFile(t, graph(t, true)), "--screenshot="+file)
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	picture, err := png.Decode(f)
	require.NoError(t, err)
	colours := map[[3]uint32]int{}
	for y := 0; y < picture.Bounds().Dy(); y += 2 {
		for x := 0; x < picture.Bounds().Dx(); x += 2 {
			r, g, b, _ := picture.At(x, y).RGBA()
			colours[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	require.Greater(t, colours[[3]uint32{0xdb, 0xea, 0xfe}], 500, "ports are drawn")
	require.Greater(t, colours[[3]uint32{0xfe, 0xf3, 0xc7}], 50, "the state is drawn")
}
