package draft

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/weights/header"
)

// layers describes a checkpoint's tensors by their names and shapes: which layers are alike, and what is in them.
func layers(w *writer, ck *header.Checkpoint) {
	prefix := layerPrefix(ck)
	inside := map[int][]string{}
	var outside []string
	for i := range ck.Tensors {
		t := &ck.Tensors[i]
		name, shape, part := described(ck, t)
		if part {
			continue
		}
		text := name + " " + dims(shape)
		rest, is := strings.CutPrefix(name, prefix+".")
		number, own, _ := strings.Cut(rest, ".")
		layer, err := strconv.Atoi(number)
		if prefix == "" || !is || err != nil {
			outside = append(outside, text)
			continue
		}
		inside[layer] = append(inside[layer], own+" "+dims(shape))
	}
	kinds := map[string][]int{}
	var order []string
	for _, layer := range slices.Sorted(maps.Keys(inside)) {
		key := strings.Join(inside[layer], "\n")
		if kinds[key] == nil {
			order = append(order, key)
		}
		kinds[key] = append(kinds[key], layer)
	}
	if len(order) > 0 {
		w.comment(fmt.Sprintf("The checkpoint has %d layers at %s.*, of %s:", len(inside), prefix, count(len(order), "kind")))
	}
	for _, key := range order {
		var matrices, vectors, others []string
		for _, t := range strings.Split(key, "\n") {
			switch rank := strings.Count(t[strings.LastIndexByte(t, '['):], ","); rank {
			case 0:
				vectors = append(vectors, t)
			case 1:
				matrices = append(matrices, t)
			default:
				others = append(others, t)
			}
		}
		w.item(fmt.Sprintf("layers %s: projections %s", spans(kinds[key]), listed(matrices)))
		w.wrapped("#   ", "#   ", "norms and other vectors: "+listed(vectors))
		if others != nil {
			w.wrapped("#   ", "#   ", "of more axes: "+listed(others))
		}
	}
	w.comment("Outside the layers: " + listed(few(outside, 24)) + ".")
}

// described gives a tensor's name without `.weight` and the shape it stands for; part is true of scales and biases.
func described(ck *header.Checkpoint, t *header.Tensor) (name string, shape []int, part bool) {
	module := t.Name
	if i := strings.LastIndexByte(t.Name, '.'); i >= 0 {
		module = t.Name[:i]
	}
	_, quantised := ck.Lookup(module + ".scales")
	if quantised && (strings.HasSuffix(t.Name, ".scales") || strings.HasSuffix(t.Name, ".biases")) {
		return "", nil, true
	}
	name, isWeight := strings.CutSuffix(t.Name, ".weight")
	if q, ok := ck.Quantization.For(module); ok && quantised && isWeight {
		return name, unpacked(t.Shape, &q), false
	}
	return name, t.Shape, false
}

// layerPrefix is what stands before the number in most tensors' names.
func layerPrefix(ck *header.Checkpoint) string {
	counts := map[string]int{}
	for i := range ck.Tensors {
		if before, _, is := strings.Cut(explain.Pattern(ck.Tensors[i].Name), ".*"); is {
			counts[before]++
		}
	}
	best := ""
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		if best == "" || counts[p] > counts[best] {
			best = p
		}
	}
	return best
}

func dims(shape []int) string {
	out := make([]string, len(shape))
	for i, d := range shape {
		out[i] = strconv.Itoa(d)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// spans writes sorted numbers as 0..2, 5.
func spans(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if text := strconv.Itoa(numbers[i]); j > i {
			out = append(out, text+".."+strconv.Itoa(numbers[j]))
		} else {
			out = append(out, text)
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

func listed(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// few are the first of many.
func few(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
