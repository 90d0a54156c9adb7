package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Pattern writes the numbers of a path as `*`.
func Pattern(path string) string {
	if !strings.ContainsAny(path, "0123456789") {
		return path
	}
	parts := strings.Split(path, ".")
	for i, s := range parts {
		if isNumber(s) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Group is what is alike.
type Group[T any] struct {
	Path  string // with *, or with the numbers where others have the rest
	Items []T
	paths []string
}

// Alike puts items together whose paths differ in numbers alone and whose keys are equal, in the order of the first.
// A group that is not all that has its path names its numbers; others are further paths that count for that.
func Alike[T any](items []T, others []string, path, key func(*T) string) []Group[T] {
	var out []Group[T]
	index := map[string]int{}
	all := map[string]map[string]bool{}
	note := func(pattern, path string) {
		if all[pattern] == nil {
			all[pattern] = map[string]bool{}
		}
		all[pattern][path] = true
	}
	for _, o := range others {
		note(Pattern(o), o)
	}
	for i := range items {
		p := Pattern(path(&items[i]))
		note(p, path(&items[i]))
		k := p + "\x00" + key(&items[i])
		n, ok := index[k]
		if !ok {
			n = len(out)
			index[k] = n
			out = append(out, Group[T]{Path: p})
		}
		out[n].Items = append(out[n].Items, items[i])
		out[n].paths = append(out[n].paths, path(&items[i]))
	}
	for i := range out {
		switch {
		case len(out[i].Items) == 1:
			out[i].Path = out[i].paths[0]
		case distinct(out[i].paths) < len(all[out[i].Path]):
			out[i].Path = numbered(out[i].Path, out[i].paths)
		}
	}
	return out
}

func distinct(paths []string) int {
	return len(slices.Compact(slices.Sorted(slices.Values(paths))))
}

// numbered writes the first * that differs as the numbers it stands for: model.layers.{0..2,5}.mlp.
func numbered(pattern string, paths []string) string {
	parts := strings.Split(pattern, ".")
	for i, s := range parts {
		if s != "*" {
			continue
		}
		var numbers []int
		for _, p := range paths {
			if n, err := strconv.Atoi(strings.Split(p, ".")[i]); err == nil {
				numbers = append(numbers, n)
			}
		}
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
		if len(numbers) == 1 {
			parts[i] = strconv.Itoa(numbers[0])
			continue
		}
		parts[i] = "{" + spans(numbers) + "}"
		break
	}
	return strings.Join(parts, ".")
}

// spans writes sorted numbers as 0..2,5.
func spans(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			out = append(out, strconv.Itoa(numbers[i]))
		case 1:
			out = append(out, strconv.Itoa(numbers[i]), strconv.Itoa(numbers[j]))
		default:
			out = append(out, fmt.Sprintf("%d..%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}

// Label is the path with the number of items: "model.layers.*.mlp ×64".
func (g *Group[T]) Label() string {
	if len(g.Items) == 1 {
		return g.Path
	}
	return g.Path + " " + times(len(g.Items))
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("×%d", n)
}
