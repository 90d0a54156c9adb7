package expr

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// records are the typed facts of the language; a field that is not listed is an error when the expression is checked.
var records = map[string]map[string]*Type{
	"array":      {"shape": List(Int), "dtype": String},
	"tensor":     {"name": String, "shape": List(Int), "dtype": String},
	"port":       {"path": String, "kind": String, "entry": String, "count": Int, "top_k": Int, "storage": String, "mode": String, "activation": String},
	"weight":     {"storage": String, "dtype": String, "bits": Int, "group": Int, "mode": String, "layout": String, "axis": Int, "inputs": Int, "outputs": Int, "bytes": Int, "bias": Bool},
	"state":      {"kind": String, "dtype": String, "opened": Bool, "scheme": String, "bits": Int, "group": Int},
	"device":     {"kind": String, "arch": String, "ane": Bool, "memory": Int},
	"checkpoint": {"fingerprint": String, "format": String},
	"request":    {"context": Int, "batch": Int, "draft_tokens": Int, "chunk": Int, "memory_budget": Int, "adapters": Bool, "kv": String},
}

// RecordFields lists the fields of a record type, or nil.
func RecordFields(kind string) map[string]*Type { return fieldsOf(kind) }

// Record makes a value of a record type from Go values.
func Record(kind string, fields map[string]any) Value {
	t := types.NewObjectType(kind)
	r := record{kind: t, fields: map[string]ref.Val{}}
	for name, v := range fields {
		if inner, ok := v.(Value); ok {
			r.fields[name] = inner.Val
			continue
		}
		r.fields[name] = Of(v).Val
	}
	return Value{t, r}
}

// allFields lists the fields of all records, for suggestions.
func allFields() []string {
	var out []string
	for _, table := range []map[string]map[string]*Type{records, planRecords} {
		for _, fields := range table {
			for name := range fields {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fieldsOf are the fields of a record type.
func fieldsOf(kind string) map[string]*Type {
	if f := records[kind]; f != nil {
		return f
	}
	return planRecords[kind]
}

// provider lets the checker know the records.
type provider struct{ types.Provider }

func newProvider() types.Provider { return provider{types.NewEmptyRegistry()} }

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if fieldsOf(name) != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	fields := fieldsOf(name)
	if fields == nil {
		return p.Provider.FindStructFieldNames(name)
	}
	var out []string
	for f := range fields {
		out = append(out, f)
	}
	return out, true
}

func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if t := fieldsOf(name)[field]; t != nil {
		return &types.FieldType{Type: t}, true
	}
	return p.Provider.FindStructFieldType(name, field)
}

// record is a value of a record type.
type record struct {
	kind   *Type
	fields map[string]ref.Val
	call   func(args ...int) ref.Val // its method, if it has one
}

func (r record) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s is no %s", r.kind, t)
}

func (r record) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return r.kind
	}
	return types.NewErr("%s is no %s", r.kind, t.TypeName())
}

func (r record) Equal(other ref.Val) ref.Val { return types.False }
func (r record) Type() ref.Type              { return r.kind }
func (r record) Value() any                  { return r.fields }

// Get reads a field.
func (r record) Get(field ref.Val) ref.Val {
	name, ok := field.(types.String)
	if v, found := r.fields[string(name)]; ok && found {
		return v
	}
	return types.NewErr("no such field: %v", field.Value())
}

// IsSet tells that a field is there.
func (r record) IsSet(field ref.Val) ref.Val {
	name, _ := field.(types.String)
	_, ok := r.fields[string(name)]
	return types.Bool(ok)
}

var (
	_ traits.Indexer     = record{}
	_ traits.FieldTester = record{}
)

// dimList is a shape in which a dim may not be a number: asking for that one is an error that shows it.
type dimList struct {
	traits.Lister
	symbolic map[int64]string
}

func (d dimList) Get(index ref.Val) ref.Val {
	i, ok := index.(types.Int)
	if ok {
		if s, bad := d.symbolic[int64(i)]; bad {
			return types.NewErr("this dim is %s, which is not known when a file is composed", s)
		}
	}
	return d.Lister.Get(index)
}

// Array makes the facts of a graph value: its dims (nil Known: a symbolic one, with its text) and dtype.
func Array(dims []Dim, dtype string) Value {
	list := make([]ref.Val, len(dims))
	symbolic := map[int64]string{}
	for i, d := range dims {
		list[i] = types.Int(d.Known)
		if d.Symbolic != "" {
			symbolic[int64(i)] = d.Symbolic
		}
	}
	shape := dimList{types.NewRefValList(types.DefaultTypeAdapter, list), symbolic}
	return Value{ArrayType, record{kind: ArrayType, fields: map[string]ref.Val{"shape": shape, "dtype": types.String(dtype)}}}
}

// Dim is a dim of a graph value: a number, or the text of a form that is not one yet.
type Dim struct {
	Known    int
	Symbolic string
}

// Field reads a field of a record, or gives no value.
func Field(v Value, name string) Value {
	r, ok := v.Val.(record)
	if !ok {
		return Value{}
	}
	return Value{fieldsOf(r.kind.String())[name], r.fields[name]}
}
