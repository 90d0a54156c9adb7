package format

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

// Files lists what is to be formatted: the files that are named, and of a folder every graph file in it (*.yaml and
// *.yml with a key `graphrun`; hidden folders are left out).
func Files(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, p)
			continue
		}
		err = filepath.WalkDir(p, func(file string, e fs.DirEntry, err error) error {
			ext := filepath.Ext(file)
			switch {
			case err != nil:
				return err
			case e.IsDir() && file != p && strings.HasPrefix(e.Name(), "."):
				return fs.SkipDir
			case !e.Type().IsRegular() || ext != ".yaml" && ext != ".yml":
				return nil
			}
			data, err := read(file)
			if err == nil && isGraph(data) {
				out = append(out, file)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no graph file there: neither a file that is named, nor *.yaml or *.yml with a key `graphrun` in a folder")
	}
	return out, nil
}

// isGraph tells whether a text has the key that every graph file begins with.
func isGraph(data []byte) bool {
	return strings.HasPrefix(strings.TrimPrefix(string(data), "\ufeff"), "graphrun:") || strings.Contains(string(data), "\ngraphrun:")
}

// read reads no more than shows that a file is too large.
func read(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > source.MaxBytes {
		return nil, fmt.Errorf("%s has %d bytes; a graph file may have %d", name, info.Size(), source.MaxBytes)
	}
	return os.ReadFile(name)
}

// File formats a file and tells whether its text is another than before. What is wrong with it goes to the list.
func File(name string, list *diag.List) (before, after []byte, err error) {
	if before, err = read(name); err != nil {
		return nil, nil, err
	}
	if after, err = Source(name, before, list); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return before, after, nil
}

// Replace writes a file's new text in one step, with its old permissions; of a link the file that it leads to.
func Replace(name string, text []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(name), ".graphrun-fmt-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Chmod(info.Mode().Perm()), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), name)
}
