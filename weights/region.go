package weights

import "sync"

// region is memory outside Go's heap: a mapped file, or unpacked tensors. It goes with its last holder, which may be an
// array of MLX; those let go on another goroutine.
type region struct {
	data    []byte
	mu      sync.Mutex
	holders int
	free    func([]byte) error
}

func newRegion(data []byte, free func([]byte) error) *region {
	return &region{data: data, holders: 1, free: free}
}

func (r *region) hold() {
	r.mu.Lock()
	r.holders++
	r.mu.Unlock()
}

func (r *region) release() {
	r.mu.Lock()
	r.holders--
	last := r.holders == 0
	r.mu.Unlock()
	if last {
		_ = r.free(r.data) // an error leaves the memory mapped, and nobody could act on it
		r.data = nil
	}
}

// arena hands out pieces of regions, small ones from a common region.
type arena struct {
	regions []*region
	used    int // of the last region
}

const (
	arenaRegion = 64 << 20
	arenaAlign  = 64
	// arenaMargin lies before the first piece: MLX looks at some bytes before an array's memory.
	arenaMargin = 64
)

// piece is memory of n bytes in a region, aligned for any element type.
func (a *arena) piece(n int) (*region, []byte, error) {
	if a.regions == nil || n > len(a.last().data)-a.used {
		data, free, err := allocate(max(arenaRegion, n+arenaMargin))
		if err != nil {
			return nil, nil, err
		}
		a.regions, a.used = append(a.regions, newRegion(data, free)), arenaMargin
	}
	r := a.last()
	from := a.used
	a.used = min(len(r.data), (from+n+arenaAlign-1)/arenaAlign*arenaAlign)
	return r, r.data[from : from+n : from+n], nil
}

func (a *arena) last() *region { return a.regions[len(a.regions)-1] }

// done lets go of the regions; those that arrays hold stay until these go.
func (a *arena) done() {
	for _, r := range a.regions {
		r.release()
	}
	a.regions = nil
}
