package main

import (
	"fmt"
	"regexp"
	"strings"
)

// kind is how a parameter crosses the border.
type kind int

const (
	kArray    kind = iota // mlx_array
	kArrays               // mlx_vector_array
	kInt                  // int
	kInts                 // const int*, size_t
	kInt64s               // const int64_t*, size_t
	kSize                 // size_t
	kUint64               // uint64_t
	kBool                 // bool
	kFloat                // float
	kDouble               // double
	kText                 // const char*
	kDtype                // mlx_dtype
	kOptInt               // mlx_optional_int: 0 stands for absent (all of them are sizes)
	kOptFloat             // mlx_optional_float
	kOptDtype             // mlx_optional_dtype
	kStream               // mlx_stream
)

// result is what a function gives back.
type result int

const (
	rOne  result = iota // mlx_array* res
	rTwo                // mlx_array* res_0, mlx_array* res_1
	rMany               // mlx_vector_array* res
)

type param struct {
	Name     string // as in the header
	Kind     kind
	Optional bool // an array that may be absent
}

type function struct {
	C      string // mlx_add
	Op     string // add
	Go     string // Add
	Result result
	Params []param
}

var (
	reComment  = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	reFunction = regexp.MustCompile(`(?s)\bint\s+(mlx_\w+)\(([^()]*)\);`)
	reParam    = regexp.MustCompile(`^(const )?(\w+)( ?\*)? ?(\w+)$`)
)

// parse reads the operations of one header. A name in skip is left out; any other function must be understood.
func parse(header string, skip map[string]string) ([]function, error) {
	header = strings.ReplaceAll(header, "/* may be null */", "@null")
	header = reComment.ReplaceAllString(header, "")
	var out []function
	for _, m := range reFunction.FindAllStringSubmatch(header, -1) {
		if _, ok := skip[m[1]]; ok {
			continue
		}
		f, err := parseFunction(m[1], m[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m[1], err)
		}
		out = append(out, f)
	}
	return out, nil
}

func parseFunction(name, params string) (function, error) {
	f := function{C: name, Op: strings.TrimPrefix(name, "mlx_")}
	f.Go = goName(f.Op)
	var raw []string
	for _, p := range strings.Split(params, ",") {
		raw = append(raw, strings.Join(strings.Fields(p), " "))
	}
	switch {
	case strings.HasPrefix(raw[0], "mlx_vector_array*"):
		f.Result, raw = rMany, raw[1:]
	case len(raw) > 1 && raw[0] == "mlx_array* res_0" && raw[1] == "mlx_array* res_1":
		f.Result, raw = rTwo, raw[2:]
	case strings.HasPrefix(raw[0], "mlx_array*"):
		f.Result, raw = rOne, raw[1:]
	default:
		return f, fmt.Errorf("its first parameter %q is no result", raw[0])
	}
	for i := 0; i < len(raw); i++ {
		text, optional := strings.CutSuffix(raw[i], " @null")
		m := reParam.FindStringSubmatch(text)
		if m == nil {
			return f, fmt.Errorf("parameter %q", raw[i])
		}
		k, err := paramKind(m[2], m[3] != "")
		if err != nil {
			return f, fmt.Errorf("parameter %q: %w", raw[i], err)
		}
		if k == kInts || k == kInt64s { // the length follows
			if i+1 == len(raw) || raw[i+1] != "size_t "+m[4]+"_num" {
				return f, fmt.Errorf("parameter %q has no length after it", raw[i])
			}
			i++
		}
		f.Params = append(f.Params, param{Name: m[4], Kind: k, Optional: optional})
	}
	return f, nil
}

func paramKind(ctype string, pointer bool) (kind, error) {
	if pointer {
		switch ctype {
		case "int":
			return kInts, nil
		case "int64_t":
			return kInt64s, nil
		case "char":
			return kText, nil
		}
		return 0, fmt.Errorf("unknown pointer type")
	}
	kinds := map[string]kind{
		"mlx_array": kArray, "mlx_vector_array": kArrays, "int": kInt, "size_t": kSize, "uint64_t": kUint64,
		"bool": kBool, "float": kFloat, "double": kDouble, "mlx_dtype": kDtype, "mlx_optional_int": kOptInt,
		"mlx_optional_float": kOptFloat, "mlx_optional_dtype": kOptDtype, "mlx_stream": kStream,
	}
	k, ok := kinds[ctype]
	if !ok {
		return 0, fmt.Errorf("unknown type")
	}
	return k, nil
}
