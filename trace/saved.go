package trace

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/weights/header"
)

// tokensName is the tensor of a saved record that holds the tokens, int32 [B, T].
const tokensName = "tokens"

// Save writes a record as a safetensors file: a tensor for each node under its name, and the tokens.
func (r *Record) Save(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(path)
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := r.write(w); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return w.Flush()
}

func (r *Record) write(w io.Writer) error {
	type entry struct {
		Dtype   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	head := map[string]any{"__metadata__": map[string]string{"format": "graphrun trace", "graph": r.Name}}
	all := append([]Node{{Name: tokensName, Value: tokenTensor(r.Tokens)}}, r.Nodes...)
	at := int64(0)
	for _, n := range all {
		t, ok := stored[n.Value.Dtype]
		if !ok {
			return fmt.Errorf("%s: a value of %s is not saved", n.Name, n.Value.Dtype)
		}
		end := at + int64(len(n.Value.Data))
		head[n.Name] = entry{t, append([]int{}, n.Value.Shape...), [2]int64{at, end}}
		at = end
	}
	data, err := json.Marshal(head)
	if err != nil {
		return err
	}
	data = append(data, strings.Repeat(" ", (8-len(data)%8)%8)...)
	if err := binary.Write(w, binary.LittleEndian, uint64(len(data))); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	for _, n := range all {
		if _, err := w.Write(n.Value.Data); err != nil {
			return err
		}
	}
	return nil
}

var stored = map[dtype.Dtype]string{
	dtype.Bool: "BOOL", dtype.Uint8: "U8", dtype.Uint16: "U16", dtype.Uint32: "U32", dtype.Uint64: "U64",
	dtype.Int8: "I8", dtype.Int16: "I16", dtype.Int32: "I32", dtype.Int64: "I64",
	dtype.Float16: "F16", dtype.Float32: "F32", dtype.Float64: "F64", dtype.Bfloat16: "BF16",
}

func tokenTensor(rows [][]int32) engine.Tensor {
	t := engine.Tensor{Dtype: dtype.Int32, Shape: []int{len(rows), len(rows[0])}}
	for _, row := range rows {
		for _, id := range row {
			t.Data = binary.NativeEndian.AppendUint32(t.Data, uint32(id))
		}
	}
	return t
}

// Saved is a file of values, made by Save or by another program.
type Saved struct {
	path    string
	tensors map[string]engine.Tensor
	prefix  string // of the tensors that belong to the case; ""
}

// Load reads a saved record. A file that another program wrote has its cases under prefixes, each with `prompt` (int32 ids),
// and of `logits` or `prefill_logits`, `embed` and `layer.N` what there is; name chooses one, "" the one with the most values.
func Load(path, name string) (*Saved, error) {
	ck, err := header.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &Saved{path: path, tensors: map[string]engine.Tensor{}}
	var cases []string
	for i := range ck.Tensors {
		if c, is := strings.CutSuffix(ck.Tensors[i].Name, ".prompt"); is {
			cases = append(cases, c)
		}
	}
	own := false
	for i := range ck.Tensors {
		own = own || ck.Tensors[i].Name == tokensName
	}
	switch {
	case own && name != "":
		return nil, fmt.Errorf("%s holds one record and no case %s", path, name)
	case !own && len(cases) == 0:
		return nil, fmt.Errorf("%s holds neither `tokens` nor a `….prompt`: nothing says what its values were computed from", path)
	case !own && name == "":
		s.prefix = largest(ck, cases) + "."
	case !own && !slices.Contains(cases, name):
		return nil, fmt.Errorf("%s holds no case %s; its cases are %s", path, name, strings.Join(cases, ", "))
	case !own:
		s.prefix = name + "."
	}
	for i := range ck.Tensors {
		t := &ck.Tensors[i]
		if !strings.HasPrefix(t.Name, s.prefix) {
			continue
		}
		v := engine.Tensor{Dtype: t.Dtype, Shape: t.Shape, Data: make([]byte, t.Size)}
		if _, err := f.ReadAt(v.Data, t.Offset); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, t.Name, err)
		}
		s.tensors[t.Name] = v
	}
	return s, nil
}

// largest is the case with the most tensors, the first of several.
func largest(ck *header.Checkpoint, cases []string) string {
	counts := map[string]int{}
	for i := range ck.Tensors {
		for _, c := range cases {
			if strings.HasPrefix(ck.Tensors[i].Name, c+".") {
				counts[c]++
			}
		}
	}
	best := cases[0]
	for _, c := range cases {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}

// Tokens are what the values were computed from.
func (s *Saved) Tokens() ([][]int32, error) {
	name := tokensName
	if s.prefix != "" {
		name = s.prefix + "prompt"
	}
	t := s.tensors[name]
	shape := t.Shape
	if len(shape) == 1 {
		shape = []int{1, shape[0]}
	}
	if t.Dtype != dtype.Int32 || len(shape) != 2 || elements(shape) == 0 {
		return nil, fmt.Errorf("%s: %s is %s %v, not int32 ids of one or more sequences", s.path, name, t.Dtype, t.Shape)
	}
	out := make([][]int32, shape[0])
	for i := range out {
		for k := range shape[1] {
			out[i] = append(out[i], int32(dtype.Number(t.Dtype, t.Data[4*(i*shape[1]+k):])))
		}
	}
	return out, nil
}

// Beside gives the saved values under the names of the nodes of a record that they stand for.
func (s *Saved) Beside(r *Record) *Record {
	out := &Record{Name: s.path, Tokens: r.Tokens}
	put := func(node *Node, key string) {
		if v, ok := s.tensors[key]; ok && node != nil {
			out.Nodes = append(out.Nodes, Node{Name: node.Name, Value: v})
		}
	}
	if s.prefix == "" {
		for i := range r.Nodes {
			put(&r.Nodes[i], r.Nodes[i].Name)
		}
		return out
	}
	out.Name = s.path + ", " + strings.TrimSuffix(s.prefix, ".")
	layers := map[string]*Node{}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if layer := lastNumber(n.Path); layer != "" {
			layers[layer] = n // the last call of a layer gives what it passes on
		}
	}
	if i := slices.IndexFunc(r.Nodes, func(n Node) bool { return n.Kind == "embedding" }); i >= 0 {
		put(&r.Nodes[i], s.prefix+"embed")
	}
	for i := range len(layers) {
		put(layers[strconv.Itoa(i)], s.prefix+"layer."+strconv.Itoa(i))
	}
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Name == OutputPrefix+"logits" {
			put(n, s.prefix+"prefill_logits")
			put(n, s.prefix+"logits")
		}
	}
	return out
}

// lastNumber is the number that a layer's own path ends with; "" of any other path.
func lastNumber(path string) string {
	last := path[strings.LastIndexByte(path, '.')+1:]
	if _, err := strconv.Atoi(last); err != nil {
		return ""
	}
	return last
}
