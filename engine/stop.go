package engine

import (
	"fmt"
	"slices"
	"strings"
)

// StopSource is a place that names tokens which end a text, as "config.json", "generation_config.json" or
// "tokenizer", with what it says.
type StopSource struct {
	Name string
	IDs  []int32
}

// StopIDs is the union of what the sources say, in ascending order. Where two that say anything differ, the warning
// shows each; any one of them alone makes some checkpoints never end.
func StopIDs(sources ...StopSource) (ids []int32, warning string) {
	var said []string
	var first []int32
	differ := false
	for _, s := range sources {
		own := slices.Clone(s.IDs)
		slices.Sort(own)
		own = slices.Compact(own)
		if len(own) == 0 {
			continue
		}
		if first == nil {
			first = own
		}
		differ = differ || !slices.Equal(first, own)
		said = append(said, fmt.Sprintf("%s says %s", s.Name, list(own)))
		ids = append(ids, own...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if differ {
		warning = fmt.Sprintf("the end-of-text tokens differ: %s; stopping at any of %s", strings.Join(said, ", "), list(ids))
	}
	return ids, warning
}

func list(ids []int32) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = fmt.Sprint(id)
	}
	return strings.Join(parts, " ")
}
