package quantize

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/weights/header"
)

// Files of the working folder that are not of the checkpoint.
const (
	manifestName = "quantize.json"  // what is made, of what
	journalName  = "quantize.jsonl" // what is finished: a line per tensor
)

// work is the folder in which the new checkpoint is made.
type work struct {
	folder  string
	shards  []shard
	files   []*os.File
	journal *os.File
	done    map[string]entry
	unlock  func()
	mu      sync.Mutex // of journal
}

// entry is a line of the journal.
type entry struct {
	Name  string  `json:"name"`
	CRC   uint32  `json:"crc32"`
	Error float64 `json:"error,omitempty"` // sum of squared differences of the weights
	Power float64 `json:"power,omitempty"` // sum of their squares
}

// openWork makes the folder, or goes on with the one that is there if it is of the same work.
func openWork(folder string, manifest []byte, shards []shard) (*work, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	w := &work{folder: folder, shards: shards, done: map[string]entry{}}
	var err error
	if w.unlock, err = lockFolder(folder); err != nil {
		return nil, err
	}
	if err := w.open(manifest); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *work) open(manifest []byte) error {
	path := filepath.Join(w.folder, manifestName)
	before, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := w.begin(manifest); err != nil {
			return err
		}
	case err != nil:
		return err
	case !bytes.Equal(before, manifest):
		return fmt.Errorf("%s holds unfinished work of another source, format or plan: remove it, or name another target", w.folder)
	}
	for i := range w.shards {
		f, err := os.OpenFile(filepath.Join(w.folder, w.shards[i].name), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		w.files = append(w.files, f)
	}
	if w.journal, err = os.OpenFile(filepath.Join(w.folder, journalName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
		return err
	}
	return w.readJournal()
}

// begin makes the shards in their full size. The manifest comes last: without one the folder holds nothing to go on with.
func (w *work) begin(manifest []byte) error {
	there, err := os.ReadDir(w.folder)
	if err != nil {
		return err
	}
	for _, e := range there {
		name := e.Name()
		if name != lockName && name != journalName && !(strings.HasPrefix(name, "model") && strings.HasSuffix(name, ".safetensors")) {
			return fmt.Errorf("%s is not a folder of unfinished work: it holds %s; remove it, or name another target", w.folder, name)
		}
	}
	if err := os.RemoveAll(filepath.Join(w.folder, journalName)); err != nil {
		return err
	}
	for _, s := range w.shards {
		if err := reserve(filepath.Join(w.folder, s.name), s); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(w.folder, manifestName), manifest)
}

func reserve(path string, s shard) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(s.header)
	if err == nil {
		err = f.Truncate(s.size)
	}
	if err == nil {
		err = allocate(f, s.size)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("making room for %d bytes: %w", s.size, err)
	}
	return nil
}

// readJournal reads what is finished; a torn last line is of something that is not.
func (w *work) readJournal() error {
	lines := bufio.NewScanner(w.journal)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Name != "" {
			w.done[e.Name] = e
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	_, err := w.journal.Write([]byte("\n")) // ends a torn line
	return err
}

// finished tells whether all of a task's tensors are written, by the journal and by their checksums in the files.
func (w *work) finished(t *task) (bool, error) {
	for _, o := range t.outputs {
		e, ok := w.done[o.name]
		if !ok {
			return false, nil
		}
		sum := crc32.NewIEEE()
		if _, err := io.Copy(sum, io.NewSectionReader(w.files[o.shard], o.offset, o.bytes)); err != nil {
			return false, err
		}
		if sum.Sum32() != e.CRC {
			return false, nil
		}
	}
	return true, nil
}

// put writes a task's tensors, then that they are written. first carries the task's error and power.
func (w *work) put(t *task, parts [][]byte, first entry) error {
	var lines bytes.Buffer
	synced := map[int]bool{}
	for i, o := range t.outputs {
		if int64(len(parts[i])) != o.bytes {
			return fmt.Errorf("%s has %d bytes, where %d are wanted", o.name, len(parts[i]), o.bytes)
		}
		if _, err := w.files[o.shard].WriteAt(parts[i], o.offset); err != nil {
			return err
		}
		e := entry{Name: o.name, CRC: crc32.ChecksumIEEE(parts[i])}
		if i == 0 {
			e.Error, e.Power = first.Error, first.Power
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
		w.done[o.name] = e
	}
	if t.format != Keep || len(parts[0]) > 1<<20 {
		for _, o := range t.outputs {
			if !synced[o.shard] {
				synced[o.shard] = true
				if err := w.files[o.shard].Sync(); err != nil {
					return err
				}
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.journal.Write(lines.Bytes())
	return err
}

// finish writes the settings, reads the whole back as a checkpoint, and gives the folder its name.
func (w *work) finish(target string, files map[string][]byte) error {
	for _, f := range w.files {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := writeSettings(w.folder, files); err != nil {
		return err
	}
	if _, err := header.Open(w.folder); err != nil {
		return fmt.Errorf("what was written does not read back: %w", err)
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return err
	}
	if err := os.Rename(w.folder, target); err != nil {
		return err
	}
	for _, name := range []string{manifestName, journalName, lockName} {
		if err := os.Remove(filepath.Join(target, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return syncFolder(filepath.Dir(target))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

func (w *work) close() {
	for _, f := range w.files {
		_ = f.Close()
	}
	if w.journal != nil {
		_ = w.journal.Close()
	}
	w.unlock()
}
