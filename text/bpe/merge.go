package bpe

// symbol is one part of a word: an element of a linked list, id -1 once it is merged into the one on its left.
type symbol struct{ id, prev, next int32 }

func (w *workspace) add(id int32) {
	n := int32(len(w.symbols))
	w.symbols = append(w.symbols, symbol{id, n - 1, n + 1})
}

// shortWord is the length up to which looking at all pairs again beats the heap.
const shortWord = 12

// mergeShort merges in place by searching for the lowest rank, leftmost first, after every merge.
func (m *Model) mergeShort(s []symbol) []symbol {
	for {
		best, at := merge{rank: 1<<31 - 1}, -1
		for i := 0; i+1 < len(s); i++ {
			if c, ok := m.pairs.get(s[i].id, s[i+1].id); ok && c.rank < best.rank {
				best, at = c, i
			}
		}
		if at < 0 {
			return s
		}
		s[at].id = best.id
		s = append(s[:at+1], s[at+2:]...)
	}
}

// candidate is a possible merge of the symbol at pos with its neighbour.
type candidate struct{ rank, pos, left, right int32 }

func (c candidate) before(o candidate) bool {
	return c.rank < o.rank || c.rank == o.rank && c.pos < o.pos
}

// mergeLong merges with a heap of candidates. A candidate is stale, and skipped, when its symbols have changed since.
func (e *Encoder) mergeLong() {
	w, s := e.w, e.w.symbols
	n := int32(len(s))
	w.heap = w.heap[:0]
	for i := int32(0); i+1 < n; i++ {
		if c, ok := e.m.pairs.get(s[i].id, s[i+1].id); ok {
			w.heap = append(w.heap, candidate{c.rank, i, s[i].id, s[i+1].id})
		}
	}
	for i := len(w.heap)/4 + 1; i >= 0; i-- {
		w.down(i)
	}
	for len(w.heap) > 0 {
		c := w.pop()
		left := &s[c.pos]
		if left.id != c.left || left.next >= n || s[left.next].id != c.right {
			continue
		}
		merged, _ := e.m.pairs.get(c.left, c.right)
		right := &s[left.next]
		left.id, left.next = merged.id, right.next
		right.id = -1
		if left.next < n {
			s[left.next].prev = c.pos
			e.consider(c.pos, left.next)
		}
		if left.prev >= 0 {
			e.consider(left.prev, c.pos)
		}
	}
}

func (e *Encoder) consider(left, right int32) {
	a, b := e.w.symbols[left].id, e.w.symbols[right].id
	if m, ok := e.m.pairs.get(a, b); ok {
		e.w.push(candidate{m.rank, left, a, b})
	}
}

// The heap has four children per node: fewer levels than two, and they share cache lines.

func (w *workspace) push(c candidate) {
	w.heap = append(w.heap, c)
	i := len(w.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !c.before(w.heap[parent]) {
			break
		}
		w.heap[i] = w.heap[parent]
		i = parent
	}
	w.heap[i] = c
}

func (w *workspace) pop() candidate {
	top, last := w.heap[0], len(w.heap)-1
	w.heap[0] = w.heap[last]
	w.heap = w.heap[:last]
	w.down(0)
	return top
}

func (w *workspace) down(i int) {
	if i >= len(w.heap) {
		return
	}
	c := w.heap[i]
	for {
		child := 4*i + 1
		if child >= len(w.heap) {
			break
		}
		for k := child + 1; k < min(4*i+5, len(w.heap)); k++ {
			if w.heap[k].before(w.heap[child]) {
				child = k
			}
		}
		if !w.heap[child].before(c) {
			break
		}
		w.heap[i] = w.heap[child]
		i = child
	}
	w.heap[i] = c
}
