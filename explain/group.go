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

// group is what is alike, in one line.
type group[T any] struct {
	path  string // with *
	items []T
	paths []string
}

// grouped puts items together whose paths differ in numbers alone and whose keys are equal, in the order of the first.
// A group that is not all that has its path names its numbers.
func grouped[T any](items []T, path, key func(*T) string) []group[T] {
	var out []group[T]
	index := map[string]int{}
	all := map[string]map[string]bool{}
	for i := range items {
		p := Pattern(path(&items[i]))
		if all[p] == nil {
			all[p] = map[string]bool{}
		}
		all[p][path(&items[i])] = true
		k := p + "\x00" + key(&items[i])
		n, ok := index[k]
		if !ok {
			n = len(out)
			index[k] = n
			out = append(out, group[T]{path: p})
		}
		out[n].items = append(out[n].items, items[i])
		out[n].paths = append(out[n].paths, path(&items[i]))
	}
	for i := range out {
		switch {
		case len(out[i].items) == 1:
			out[i].path = out[i].paths[0]
		case len(out[i].items) < len(all[out[i].path]):
			out[i].path = numbered(out[i].path, out[i].paths)
		}
	}
	return out
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

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("×%d", n)
}
