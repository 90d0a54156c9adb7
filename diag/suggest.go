package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Nearest finds the candidate that a misspelt word most likely meant: the least edit distance, at most a third of the
// word's length (at least one edit; of one or two letters only a swap or other case). Empty where nothing is near.
func Nearest(word string, candidates []string) string {
	limit := max(1, len([]rune(word))/3)
	if len([]rune(word)) < 3 {
		return nearestShort(word, candidates)
	}
	best, at := "", limit+1
	for _, c := range candidates {
		if c == word {
			continue
		}
		d := distance(strings.ToLower(word), strings.ToLower(c), limit)
		if d < at {
			best, at = c, d
		}
	}
	return best
}

// DidYouMean is a help line for an unknown word, or "" where nothing is near.
func DidYouMean(word string, candidates []string) string {
	if n := Nearest(word, candidates); n != "" {
		return "did you mean " + n + "?"
	}
	return ""
}

// maxListed is how many words Among lists.
const maxListed = 8

// Among is a help line for an unknown word: the one that it most likely meant, else those that there are, those first that
// hold it or begin as it does. Empty where there are none.
func Among(word string, names []string, what string) string {
	if help := DidYouMean(word, names); help != "" {
		return help
	}
	return Listed(word, names, what)
}

// Listed lists the words that there are in a help line, those first that hold a word or begin as it does.
func Listed(word string, names []string, what string) string {
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(kinship(word, b)-kinship(word, a), strings.Compare(a, b))
	})
	if names = slices.Compact(names); len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names) - maxListed; n > 1 {
		names, more = names[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	return what + ": " + strings.Join(names, ", ") + more
}

// kinship is how much a word and a name have in common: the whole of one, or a beginning of three letters or more.
func kinship(word, name string) int {
	word, name = strings.ToLower(word), strings.ToLower(name)
	if short, long := word, name; len(short) > 0 && len(long) > 0 {
		if len(short) > len(long) {
			short, long = long, short
		}
		if len(short) >= 2 && strings.Contains(long, short) {
			return 100 + len(short)
		}
	}
	n := 0
	for n < len(word) && n < len(name) && word[n] == name[n] {
		n++
	}
	if n < 3 {
		n = 0
	}
	for _, part := range strings.FieldsFunc(word, separator) {
		if len(part) > 2 && slices.Contains(strings.FieldsFunc(name, separator), part) {
			n += 10
		}
	}
	return n
}

func separator(r rune) bool { return strings.ContainsRune("_.-", r) }

// Akin are the names that have a part in common with a word, the nearest first, at most three.
func Akin(word string, names []string) []string {
	var out []string
	for _, n := range names {
		if kinship(word, n) > 0 {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(kinship(word, b)-kinship(word, a), strings.Compare(a, b))
	})
	return out[:min(len(out), 3)]
}

// Fix is what could be written in the place of what is wrong: the word of a "did you mean" line. ok is false where there
// is none, or more than one line, or no place to write it.
func (d *Diagnostic) Fix() (word string, ok bool) {
	if d.At.Line < 1 || d.At.EndLine > d.At.Line || d.At.EndCol <= d.At.Col {
		return "", false
	}
	for _, h := range d.Help {
		if w, is := Suggested(h); is {
			if word != "" {
				return "", false
			}
			word = w
		}
	}
	return word, word != ""
}

// Suggested takes the word out of a line that DidYouMean made; ok is false for other lines, and where what is meant is
// no single word.
func Suggested(line string) (word string, ok bool) {
	word, is := strings.CutPrefix(line, "did you mean ")
	word, asked := strings.CutSuffix(word, "?")
	return word, is && asked && word != "" && !strings.ContainsAny(word, " '\"")
}

// distance is Damerau-Levenshtein distance (adjacent swaps count one), limit+1 where it is more than limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

func nearestShort(word string, candidates []string) string {
	r := []rune(strings.ToLower(word))
	for _, c := range candidates {
		l := []rune(strings.ToLower(c))
		same := string(l) == string(r)
		swapped := len(r) == 2 && len(l) == 2 && l[0] == r[1] && l[1] == r[0]
		if c != word && (same || swapped) {
			return c
		}
	}
	return ""
}
