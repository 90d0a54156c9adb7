package header

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	indexName = "model.safetensors.index.json"
	modelName = "model.safetensors"
	maxIndex  = 64 << 20
	maxShards = 10_000
	// maxIndexed is how many tensors an index may name: large mixtures of experts have some 100,000.
	maxIndexed = 400_000
)

// readShards finds the folder's safetensors files and reads their tables: those that the index names, else
// model.safetensors, else a complete set named model-00001-of-0000N.safetensors.
func (ck *Checkpoint) readShards(folder string) error {
	there, err := weightFiles(folder)
	if err != nil {
		return err
	}
	index, err := inside(folder, indexName)
	if err == nil {
		return ck.readIndexed(folder, index, there)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names := []string{modelName}
	if !slices.Contains(there, modelName) {
		if names, err = numbered(folder, there); err != nil {
			return err
		}
		ck.Warnings = append(ck.Warnings, fmt.Sprintf("%s: no %s; the %d files that their names make a set are taken together", folder, indexName, len(names)))
	}
	ck.warnStray(folder, there, names)
	_, err = ck.readFiles(folder, names)
	return err
}

// weightFiles lists the files of the folder that are named as a model's weights.
func weightFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if n := e.Name(); !e.IsDir() && strings.HasPrefix(n, "model") && strings.HasSuffix(n, ".safetensors") {
			out = append(out, n)
		}
	}
	return out, nil
}

var numberedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^model-(\d{1,6})-of-(\d{1,6})\.safetensors$`)
})

// numbered takes files without an index where their names tell that all are there.
func numbered(folder string, there []string) ([]string, error) {
	have := map[int]string{}
	total := -1
	for _, n := range there {
		m := numberedName().FindStringSubmatch(n)
		if m == nil {
			continue
		}
		i, _ := strconv.Atoi(m[1])
		of, _ := strconv.Atoi(m[2])
		if total >= 0 && of != total || have[i] != "" {
			return nil, fmt.Errorf("%s: the shards are of different sets and there is no %s to tell which belong: %s", folder, indexName, few(there))
		}
		total, have[i] = of, n
	}
	if total < 0 {
		others, err := filepath.Glob(filepath.Join(escapeGlob(folder), "*.safetensors"))
		if err == nil && len(others) > 0 {
			return nil, fmt.Errorf("%s: neither %s nor %s; give a file by itself if it is the model: %s", folder, modelName, indexName, few(others))
		}
		return nil, fmt.Errorf("%s: no weights: neither %s nor %s", folder, modelName, indexName)
	}
	var missing []string
	for i := 1; i <= total && len(missing) <= maxShards; i++ {
		if have[i] == "" {
			missing = append(missing, fmt.Sprintf("model-%05d-of-%05d.safetensors", i, total))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s: shards are missing: %s", folder, few(missing))
	}
	return slices.Sorted(maps.Values(have)), nil
}

// warnStray names the files that look like the model's weights and are not read.
func (ck *Checkpoint) warnStray(folder string, there, read []string) {
	var stray []string
	for _, n := range there {
		if !slices.Contains(read, n) {
			stray = append(stray, n)
		}
	}
	if len(stray) > 0 {
		ck.Warnings = append(ck.Warnings, fmt.Sprintf("%s: not part of the checkpoint and not read: %s", folder, few(stray)))
	}
}

// readFiles reads the tables of files (paths relative to the folder) and puts them together; the result gives the file
// that each tensor came from.
func (ck *Checkpoint) readFiles(folder string, names []string) (map[string]string, error) {
	from := map[string]string{}
	for _, n := range names {
		path, err := inside(folder, n)
		if err != nil {
			return nil, err
		}
		tensors, metadata, err := readSafetensors(path)
		if err != nil {
			return nil, err
		}
		for _, t := range tensors {
			if before, twice := from[t.Name]; twice {
				return nil, fmt.Errorf("%s: tensor %s is in two files, %s and %s", folder, clip(t.Name), before, n)
			}
			from[t.Name] = n
		}
		ck.Files = append(ck.Files, path)
		ck.Tensors = append(ck.Tensors, tensors...)
		if ck.Metadata == nil {
			ck.Metadata = map[string]string{}
		}
		for k, v := range metadata {
			if _, there := ck.Metadata[k]; !there {
				ck.Metadata[k] = v
			}
		}
	}
	return from, sortByName(ck.Tensors)
}

// readIndexed reads the shards that the index names and compares both ways.
func (ck *Checkpoint) readIndexed(folder, index string, there []string) error {
	where, err := readIndex(index)
	if err != nil {
		return err
	}
	shards := slices.Compact(slices.Sorted(maps.Values(where)))
	var missing []string
	for _, s := range shards {
		if _, err := inside(folder, s); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, s)
		} else if err != nil {
			return fmt.Errorf("%s: %w", index, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: shards that the index names are missing: %s", index, few(missing))
	}
	ck.warnStray(folder, there, shards)
	from, err := ck.readFiles(folder, shards)
	if err != nil {
		return err
	}
	var absent, elsewhere, unlisted []string
	for _, name := range slices.Sorted(maps.Keys(where)) {
		switch got, ok := from[name]; {
		case !ok:
			absent = append(absent, fmt.Sprintf("%s (should be in %s)", name, where[name]))
		case got != where[name]:
			elsewhere = append(elsewhere, fmt.Sprintf("%s (in %s, not in %s)", name, got, where[name]))
		}
	}
	for _, t := range ck.Tensors {
		if _, ok := where[t.Name]; !ok {
			unlisted = append(unlisted, t.Name)
		}
	}
	if len(absent) > 0 {
		return fmt.Errorf("%s: tensors that the index names are in none of its shards: %s", index, few(absent))
	}
	if len(elsewhere) > 0 {
		ck.Warnings = append(ck.Warnings, fmt.Sprintf("%s: the index is stale, tensors are in other shards: %s", index, few(elsewhere)))
	}
	if len(unlisted) > 0 {
		ck.Warnings = append(ck.Warnings, fmt.Sprintf("%s: the index is stale, its shards hold tensors that it does not name (they are read): %s", index, few(unlisted)))
	}
	return nil
}

// readIndex reads `weight_map` of an index: tensor to shard.
func readIndex(path string) (map[string]string, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxIndex {
		return nil, fmt.Errorf("%s: %d bytes; an index has at most %d", path, size, maxIndex)
	}
	var where map[string]string
	shards := map[string]string{} // one string per shard
	names := 0
	j := newJSON(f)
	err = j.Object(func(key string, at Place) error {
		if key != "weight_map" {
			return j.Skip()
		}
		if where != nil {
			return j.errorAt(at, "weight_map is given twice")
		}
		where = map[string]string{}
		return j.Object(func(tensor string, at Place) error {
			if _, twice := where[tensor]; twice {
				return j.errorAt(at, "tensor %s is given twice", clip(tensor))
			}
			shard, err := j.String(MaxName)
			if err != nil {
				return err
			}
			if names += len(tensor); names > 2*maxNames || len(where) == maxIndexed || len(tensor) > MaxName {
				return j.errorAt(at, "too many tensors, or too long names")
			}
			if shards[shard] == "" {
				if len(shards) == maxShards {
					return j.errorAt(at, "more than %d shards", maxShards)
				}
				shards[shard] = shard
			}
			where[tensor] = shards[shard]
			return nil
		})
	})
	if err == nil {
		err = j.End()
	}
	if err == nil && len(where) == 0 {
		err = errors.New(" weight_map names no tensor")
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return where, nil
}

// inside gives the path of a file of the folder, and refuses one that is not: absolute, with `..`, or a link that leads
// out. The links of Hugging Face's cache, from snapshots/REVISION to blobs beside it, are followed.
func inside(folder, name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("%s: %s is not a path inside the folder", folder, clip(name))
	}
	path := filepath.Join(folder, filepath.FromSlash(name))
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", linked(path, err)
	}
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", err
	}
	if within(root, real) {
		return path, nil
	}
	if snapshots := filepath.Dir(root); filepath.Base(snapshots) == "snapshots" && within(filepath.Join(filepath.Dir(snapshots), "blobs"), real) {
		return path, nil
	}
	return "", fmt.Errorf("%s is a link that leaves the folder, to %s; put the file itself there", path, real)
}

// linked names the file whose links cannot be followed; of one that is not there the error says it.
func linked(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return err
	}
	return fmt.Errorf("%s: its links cannot be followed: %w", path, err)
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}
