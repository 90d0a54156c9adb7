package header

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// cursor reads little-endian fields one after another through a small window, and skips without reading.
type cursor struct {
	r    io.ReaderAt
	size int64
	off  int64
	buf  []byte // bytes of the file from base
	base int64
}

func newCursor(r io.ReaderAt, size int64) *cursor {
	return &cursor{r: r, size: size, buf: make([]byte, 0, 64<<10)}
}

func (c *cursor) left() int64 { return c.size - c.off }

func (c *cursor) ended(what string) error {
	return fmt.Errorf("the file ends at byte %d, within %s: its download is incomplete, or a count in it is wrong", c.size, what)
}

// take gives the next n bytes (at most the window's), valid until the next call.
func (c *cursor) take(n int, what string) ([]byte, error) {
	if int64(n) > c.left() {
		return nil, c.ended(what)
	}
	if from := c.off - c.base; from < 0 || from+int64(n) > int64(len(c.buf)) {
		want := min(int64(cap(c.buf)), c.left())
		got, err := c.r.ReadAt(c.buf[:want], c.off)
		if got < n {
			if err == nil || err == io.EOF {
				err = c.ended(what)
			}
			return nil, err
		}
		c.buf, c.base = c.buf[:got], c.off
	}
	from := int(c.off - c.base)
	c.off += int64(n)
	return c.buf[from : from+n], nil
}

func (c *cursor) skip(n uint64, what string) error {
	if n > uint64(c.left()) {
		return c.ended(what)
	}
	c.off += int64(n)
	return nil
}

// skipStrings passes strings that their lengths precede. It keeps to the window as long as it can: a vocabulary has
// hundreds of thousands.
func (c *cursor) skipStrings(count uint64, what string) error {
	for ; count > 0; count-- {
		at := c.off - c.base
		if at < 0 || at+8 > int64(len(c.buf)) {
			if c.off > maxPairsEnd {
				return fmt.Errorf("%s: the metadata has more than %d bytes", what, maxPairsEnd)
			}
			if _, err := c.take(8, what); err != nil {
				return err
			}
			c.off -= 8
			at = c.off - c.base
		}
		n := binary.LittleEndian.Uint64(c.buf[at:])
		if n > uint64(c.left()-8) {
			return c.ended(what)
		}
		c.off += 8 + int64(n)
	}
	return nil
}

func (c *cursor) u32(what string) (uint32, error) {
	b, err := c.take(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) u64(what string) (uint64, error) {
	b, err := c.take(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// text takes a string that its length precedes.
func (c *cursor) text(most int, what string) (string, error) {
	n, err := c.u64(what)
	if err != nil {
		return "", err
	}
	if n > uint64(most) {
		return "", fmt.Errorf("%s has %d bytes; at most %d are allowed", what, n, most)
	}
	b, err := c.take(int(n), what)
	return string(b), err
}

// Types of GGUF values.
const (
	ggufUint8 uint32 = iota
	ggufInt8
	ggufUint16
	ggufInt16
	ggufUint32
	ggufInt32
	ggufFloat32
	ggufBool
	ggufString
	ggufArray
	ggufUint64
	ggufInt64
	ggufFloat64
)

var ggufTypeNames = [...]string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "array", "uint64", "int64", "float64"}

var ggufTypeSizes = [...]int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

// number reads a scalar of a GGUF type from its bytes: bool, int64 (uint64 too, where it fits) or float64.
func ggufNumber(kind uint32, b []byte) any {
	le := binary.LittleEndian
	switch kind {
	case ggufUint8:
		return int64(b[0])
	case ggufInt8:
		return int64(int8(b[0]))
	case ggufUint16:
		return int64(le.Uint16(b))
	case ggufInt16:
		return int64(int16(le.Uint16(b)))
	case ggufUint32:
		return int64(le.Uint32(b))
	case ggufInt32:
		return int64(int32(le.Uint32(b)))
	case ggufFloat32:
		return shortest(math.Float32frombits(le.Uint32(b)))
	case ggufBool:
		return b[0] != 0
	case ggufUint64:
		if n := le.Uint64(b); n > math.MaxInt64 {
			return float64(n)
		}
		return int64(le.Uint64(b))
	case ggufInt64:
		return int64(le.Uint64(b))
	}
	return math.Float64frombits(le.Uint64(b))
}
