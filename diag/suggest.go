package diag

import "strings"

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
