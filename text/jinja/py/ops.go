package py

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
)

var errSize = fmt.Errorf("a value larger than %d MiB", MaxSize>>20)

// Binary applies one of + - * / // % **.
func Binary(op string, a, b any) (any, error) {
	if s, ok := Text(a); ok && op == "%" {
		return percent(s, b)
	}
	for _, v := range []any{a, b} {
		if u, ok := v.(*Undefined); ok {
			return nil, u.fail()
		}
	}
	switch op {
	case "+":
		if v, err, ok := concat(a, b); ok {
			return v, err
		}
	case "*":
		if v, err, ok := multiply(a, b); ok {
			return v, err
		}
	}
	if v, err := arithmetic(op, a, b); err != errTypes {
		return v, err
	}
	if _, ok := Text(a); ok && op == "+" {
		return nil, fmt.Errorf(`can only concatenate str (not "%s") to str`, TypeName(b))
	}
	name := op
	if op == "**" {
		name = "** or pow()"
	}
	return nil, fmt.Errorf("unsupported operand type(s) for %s: '%s' and '%s'", name, TypeName(a), TypeName(b))
}

var errTypes = errors.New("types")

func concat(a, b any) (any, error, bool) {
	switch a := a.(type) {
	case string:
		switch b := b.(type) {
		case string:
			if len(a)+len(b) > MaxSize {
				return nil, errSize, true
			}
			return a + b, nil, true
		case Markup:
			return Markup(Escape(a)) + b, nil, true
		}
	case Markup:
		if s, ok := b.(string); ok {
			return a + Markup(Escape(s)), nil, true
		}
		if s, ok := b.(Markup); ok {
			return a + s, nil, true
		}
	case *List:
		if b, ok := b.(*List); ok {
			if len(a.Items)+len(b.Items) > MaxSize/16 {
				return nil, errSize, true
			}
			return &List{append(append(make([]any, 0, len(a.Items)+len(b.Items)), a.Items...), b.Items...)}, nil, true
		}
		return nil, fmt.Errorf(`can only concatenate list (not "%s") to list`, TypeName(b)), true
	case *Tuple:
		if b, ok := b.(*Tuple); ok {
			if len(a.Items)+len(b.Items) > MaxSize/16 {
				return nil, errSize, true
			}
			return &Tuple{Items: append(append(make([]any, 0, len(a.Items)+len(b.Items)), a.Items...), b.Items...)}, nil, true
		}
		return nil, fmt.Errorf(`can only concatenate tuple (not "%s") to tuple`, TypeName(b)), true
	}
	return nil, nil, false
}

func multiply(a, b any) (any, error, bool) {
	n, ok := Int(b)
	if !ok {
		if n, ok = Int(a); !ok {
			return nil, nil, false
		}
		a = b
	}
	n = max(n, 0)
	fits := func(size int) bool { return size == 0 || n <= int64(MaxSize/size) }
	switch a := a.(type) {
	case string, Markup:
		s, _ := Text(a)
		if !fits(len(s)) {
			return nil, errSize, true
		}
		return strings.Repeat(s, int(n)), nil, true
	case *List:
		if !fits(len(a.Items) * 16) {
			return nil, errSize, true
		}
		return &List{repeatItems(a.Items, n)}, nil, true
	case *Tuple:
		if !fits(len(a.Items) * 16) {
			return nil, errSize, true
		}
		return &Tuple{Items: repeatItems(a.Items, n)}, nil, true
	}
	return nil, nil, false
}

func repeatItems(items []any, n int64) []any {
	if len(items) == 0 {
		return nil
	}
	out := make([]any, 0, len(items)*int(n))
	for range n {
		out = append(out, items...)
	}
	return out
}

func arithmetic(op string, a, b any) (any, error) {
	x, xInt := Int(a)
	y, yInt := Int(b)
	if xInt && yInt && op != "/" {
		return integers(op, x, y)
	}
	if op != "/" && (isBig(a) || isBig(b)) && (xInt || isBig(a)) && (yInt || isBig(b)) {
		return nil, errors.New("arithmetic on integers beyond 64 bits is not supported")
	}
	f, ok1 := Float(a)
	g, ok2 := Float(b)
	if !ok1 || !ok2 {
		return nil, errTypes
	}
	return floats(op, f, g)
}

func isBig(v any) bool {
	_, ok := v.(*big.Int)
	return ok
}

var (
	errOverflow = errors.New("arithmetic on integers beyond 64 bits is not supported")
	errZero     = errors.New("division by zero")
)

func integers(op string, x, y int64) (any, error) {
	switch op {
	case "+":
		if s := x + y; (s > x) == (y > 0) {
			return s, nil
		}
	case "-":
		if d := x - y; (d < x) == (y > 0) {
			return d, nil
		}
	case "*":
		hi, lo := bits.Mul64(abs64(x), abs64(y))
		if hi == 0 && lo <= math.MaxInt64 {
			return x * y, nil
		}
	case "//", "%":
		if y == 0 {
			return nil, errors.New("integer division or modulo by zero")
		}
		if x == math.MinInt64 && y == -1 {
			break
		}
		q, r := x/y, x%y
		if r != 0 && (r < 0) != (y < 0) {
			q, r = q-1, r+y
		}
		if op == "%" {
			return r, nil
		}
		return q, nil
	case "**":
		if y < 0 {
			if x == 0 {
				return nil, errors.New("0.0 cannot be raised to a negative power")
			}
			return math.Pow(float64(x), float64(y)), nil
		}
		return power(x, y)
	}
	return nil, errOverflow
}

func abs64(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func power(x, y int64) (any, error) {
	result := int64(1)
	for y > 0 {
		if y&1 == 1 {
			v, err := integers("*", result, x)
			if err != nil {
				return nil, err
			}
			result = v.(int64)
		}
		if y >>= 1; y > 0 {
			v, err := integers("*", x, x)
			if err != nil {
				return nil, err
			}
			x = v.(int64)
		}
	}
	return result, nil
}

func floats(op string, x, y float64) (any, error) {
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "**":
		return math.Pow(x, y), nil
	}
	if y == 0 {
		return nil, errZero
	}
	switch op {
	case "/":
		return x / y, nil
	case "//":
		return math.Floor(x / y), nil
	}
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r, nil
}

// Negate is the unary minus; Positive the unary plus.
func Negate(v any) (any, error) {
	if n, ok := Int(v); ok && n != math.MinInt64 {
		return -n, nil
	}
	if f, ok := v.(float64); ok {
		return -f, nil
	}
	return nil, unary("-", v)
}

// Positive is the unary plus.
func Positive(v any) (any, error) {
	if n, ok := Int(v); ok {
		return n, nil
	}
	if f, ok := v.(float64); ok {
		return f, nil
	}
	return nil, unary("+", v)
}

func unary(op string, v any) error {
	if u, ok := v.(*Undefined); ok {
		return u.fail()
	}
	return fmt.Errorf("bad operand type for unary %s: '%s'", op, TypeName(v))
}
