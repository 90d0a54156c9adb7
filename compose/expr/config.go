package expr

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/graphrun/graphrun/diag"
)

// dict is config.json or an object in it: it knows its place for messages and keeps which keys were asked.
type dict struct {
	traits.Mapper
	file  string
	path  string // "" or "text_config."
	keys  map[string]any
	asked map[string]bool // by whole path, shared by all objects of a file
}

// Config makes the value of `config`. asked collects the keys that expressions ask, by whole path.
func Config(file string, values map[string]any, asked map[string]bool) Value {
	return Value{Dict, newDict(file, "", values, asked)}
}

func newDict(file, path string, values map[string]any, asked map[string]bool) *dict {
	return &dict{types.NewStringInterfaceMap(types.DefaultTypeAdapter, values), file, path, values, asked}
}

func (d *dict) ask(key string) {
	if d.asked != nil {
		d.asked[d.path+key] = true
	}
}

func (d *dict) askAll() {
	for k := range d.keys {
		d.ask(k)
	}
}

func (d *dict) Find(key ref.Val) (ref.Val, bool) {
	if name, ok := key.(types.String); ok {
		d.ask(string(name))
		if inner, ok := d.keys[string(name)].(map[string]any); ok {
			return newDict(d.file, d.path+string(name)+".", inner, d.asked), true
		}
	}
	return d.Mapper.Find(key)
}

// Get does not count as asking: cel-go looks at one element to tell what kind of map this is. The accessors use Find.
func (d *dict) Get(key ref.Val) ref.Val {
	if v, ok := d.Mapper.Find(key); ok {
		return v
	}
	return types.NewErr("%s has no key %v", d.file, key.Value())
}

func (d *dict) ConvertToNative(t reflect.Type) (any, error) {
	d.askAll()
	return d.Mapper.ConvertToNative(t)
}

// Unasked lists the keys of a config that no expression asked for, by whole path; an object nobody looked into is one.
func Unasked(values map[string]any, asked map[string]bool) []string {
	var out []string
	var walk func(path string, m map[string]any)
	walk = func(path string, m map[string]any) {
		for k, v := range m {
			full := path + k
			inner, isMap := v.(map[string]any)
			switch {
			case !asked[full]:
				out = append(out, full)
			case isMap && anyUnder(asked, full+"."):
				walk(full+".", inner)
			}
		}
	}
	walk("", values)
	sort.Strings(out)
	return out
}

func anyUnder(asked map[string]bool, prefix string) bool {
	for k := range asked {
		if strings.HasPrefix(k, prefix) {
			return true
		}
	}
	return false
}

// configError is about one key of the config; the composer points at the key in the expression.
type configError struct {
	key     string
	message string
	help    string
}

func (e *configError) Error() string { return e.message }

func wrapErr(err error) ref.Val { return types.WrapErr(err) }

// An accessor reads what the config holds under a key, or says that it cannot.
type accessor struct {
	name     string
	want     string
	result   *Type
	defaults []*Type
	read     func(v ref.Val) (ref.Val, bool)
}

func accessors() []cel.EnvOption {
	same := func(ok func(ref.Val) bool) func(ref.Val) (ref.Val, bool) {
		return func(v ref.Val) (ref.Val, bool) { return v, ok(v) }
	}
	isString := same(func(v ref.Val) bool { _, ok := v.(types.String); return ok })
	isBool := same(func(v ref.Val) bool { _, ok := v.(types.Bool); return ok })
	all := []accessor{
		{"int", "an int", Int, []*Type{Int}, readInt},
		{"float", "a number", Float, []*Type{Float, Int}, readFloat},
		{"bool", "true or false", Bool, []*Type{Bool}, isBool},
		{"string", "a string", String, []*Type{String}, isString},
		{"dict", "an object", Dict, []*Type{Dict}, same(func(v ref.Val) bool { _, ok := v.(traits.Mapper); return ok })},
		{"ints", "a list of ints", List(Int), []*Type{List(Int)}, listOf(readInt)},
		{"floats", "a list of numbers", List(Float), []*Type{List(Float), List(Int)}, listOf(readFloat)},
		{"strings", "a list of strings", List(String), []*Type{List(String)}, listOf(isString)},
		{"bools", "a list of true and false", List(Bool), []*Type{List(Bool)}, listOf(isBool)},
	}
	var out []cel.EnvOption
	for _, a := range all {
		fns := []cel.FunctionOpt{cel.MemberOverload("config_"+a.name, []*Type{Dict, String}, a.result,
			cel.BinaryBinding(func(m, k ref.Val) ref.Val { return a.get(m, k, nil) }))}
		for i, d := range a.defaults {
			// Not strict: a default that cannot be evaluated only counts where it is needed.
			fns = append(fns, cel.MemberOverload(fmt.Sprintf("config_%s_default%d", a.name, i), []*Type{Dict, String, d}, a.result,
				cel.OverloadIsNonStrict(), cel.FunctionBinding(func(args ...ref.Val) ref.Val { return a.get(args[0], args[1], args[2]) })))
		}
		out = append(out, cel.Function(a.name, fns...))
	}
	is := func(name string, f func(v ref.Val, found bool) bool) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("config_"+name, []*Type{Dict, String}, Bool, cel.BinaryBinding(func(m, k ref.Val) ref.Val {
			v, found := m.(traits.Mapper).Find(k)
			return types.Bool(f(v, found))
		})))
	}
	return append(out, is("has", func(v ref.Val, found bool) bool { return found && v != types.NullValue }),
		is("is_null", func(v ref.Val, found bool) bool { return found && v == types.NullValue }))
}

func (a accessor) get(m, k, fallback ref.Val) ref.Val {
	for _, v := range []ref.Val{m, k} {
		if types.IsUnknownOrError(v) {
			return v
		}
	}
	key, _ := k.(types.String)
	file, path := "config.json", ""
	var present []string
	if d, ok := m.(*dict); ok {
		file, path = d.file, d.path
		for name := range d.keys {
			present = append(present, name)
		}
	}
	v, found := m.(traits.Mapper).Find(k)
	if !found || v == types.NullValue {
		if fallback == nil {
			message := fmt.Sprintf("%s has no %s%s", file, path, key)
			if found {
				message = fmt.Sprintf("%s%s is null in %s", path, key, file)
			}
			message += "; want " + a.want
			help := fmt.Sprintf("where models may leave it out, give a default: %s.%s('%s', %s)", reader(path), a.name, key, a.example())
			if near := nearest(string(key), present); near != "" && !found {
				help = fmt.Sprintf("it has %s%s", path, near)
			} else if akin := diag.Akin(string(key), present); len(akin) > 0 && !found {
				help = fmt.Sprintf("it has %s; %s", strings.Join(akin, ", "), help)
			}
			return wrapErr(&configError{string(key), message, help})
		}
		if types.IsUnknownOrError(fallback) {
			return fallback
		}
		v = fallback
	}
	out, ok := a.read(v)
	if !ok {
		help := ""
		if other := readerOf(v); other != "" {
			help = fmt.Sprintf("read it with %s.%s('%s'), or correct %s", reader(path), other, key, file)
		}
		return wrapErr(&configError{string(key), fmt.Sprintf("%s%s in %s is %s (%s); want %s", path, key, file, Value{Val: v}.Show(), jsonType(v), a.want), help})
	}
	return out
}

// example is a default as it could be written.
func (a accessor) example() string {
	switch a.result {
	case Int:
		return "0"
	case Float:
		return "0.0"
	case Bool:
		return "false"
	case String:
		return "''"
	case Dict:
		return "{}"
	}
	return "[]"
}

// reader writes the object of the config at a path.
func reader(path string) string {
	out := "config"
	for _, key := range strings.Split(strings.TrimSuffix(path, "."), ".") {
		if key != "" {
			out += ".dict('" + key + "')"
		}
	}
	return out
}

// Reader names the accessor that reads a value of config.json; "": none does.
func Reader(v any) string {
	if v == nil {
		return ""
	}
	return readerOf(types.DefaultTypeAdapter.NativeToValue(v))
}

// readerOf names the accessor that reads a value.
func readerOf(v ref.Val) string {
	switch x := v.(type) {
	case types.Int:
		return "int"
	case types.Double:
		return "float"
	case types.String:
		return "string"
	case types.Bool:
		return "bool"
	case traits.Mapper:
		return "dict"
	case traits.Lister:
		if n, _ := x.Size().(types.Int); n > 0 {
			if one := readerOf(x.Get(types.Int(0))); one != "" && one != "dict" && !strings.HasSuffix(one, "s") {
				return one + "s"
			}
		}
	}
	return ""
}

func jsonType(v ref.Val) string {
	switch v.(type) {
	case types.Int:
		return "an int"
	case types.Double:
		return "a number with a fraction or exponent"
	case types.String:
		return "a string"
	case types.Bool:
		return "a boolean"
	case traits.Lister:
		return "a list"
	case traits.Mapper:
		return "an object"
	}
	return v.Type().TypeName()
}

func readInt(v ref.Val) (ref.Val, bool) {
	switch x := v.(type) {
	case types.Int:
		return x, true
	case types.Double: // 4.0
		if n := types.Int(x); types.Double(n) == x {
			return n, true
		}
	}
	return nil, false
}

func readFloat(v ref.Val) (ref.Val, bool) {
	f, ok := number(v)
	return types.Double(f), ok
}

// listOf also takes one value for a list of one.
func listOf(one func(ref.Val) (ref.Val, bool)) func(ref.Val) (ref.Val, bool) {
	return func(v ref.Val) (ref.Val, bool) {
		l, ok := v.(traits.Lister)
		if !ok {
			x, ok := one(v)
			return types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{x}), ok
		}
		out := make([]ref.Val, int(l.Size().(types.Int)))
		for i := range out {
			x, ok := one(l.Get(types.Int(i)))
			if !ok {
				return nil, false
			}
			out[i] = x
		}
		return types.NewRefValList(types.DefaultTypeAdapter, out), true
	}
}
