package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

func value(name, doc string) registry.Input { return registry.Input{Name: name, Doc: doc} }

func optionalValue(name, doc string) registry.Input {
	return registry.Input{Name: name, Doc: doc, Optional: true}
}

func optionalWeight(name, doc string) registry.Input {
	return registry.Input{Name: name, Doc: doc, Kind: registry.Weight, Optional: true}
}

func state(name, doc string) registry.Input {
	return registry.Input{Name: name, Doc: doc, Kind: registry.State}
}

func likeInput() registry.Input {
	return registry.Input{Name: "like", Doc: "a value whose dtype is taken", Kind: registry.TypeOf, Optional: true}
}

func required(name, typ, doc string) registry.Param {
	return registry.Param{Name: name, Type: typ, Doc: doc}
}

func optional(name, typ, doc string) registry.Param {
	return registry.Param{Name: name, Type: typ, Doc: doc, Optional: true}
}

func withDefault(name, typ, doc string, v plan.Value) registry.Param {
	return registry.Param{Name: name, Type: typ, Doc: doc, Default: &v}
}

func boolValue(b bool) plan.Value         { return plan.Value{Kind: plan.Bool, Bool: b} }
func intValue(n int64) plan.Value         { return plan.Value{Kind: plan.Int, Int: n} }
func floatValue(f float64) plan.Value     { return plan.Value{Kind: plan.Float, Float: f} }
func stringValue(s string) plan.Value     { return plan.Value{Kind: plan.String, Str: s} }
func axisParam(doc string) registry.Param { return required("axis", "int", doc) }

func keepdimsParam() registry.Param {
	return withDefault("keepdims", "bool", "keep the axis, with size 1", boolValue(false))
}

// inexact is the dtype of a function that has no integer result: MLX computes those of integers and bools in float32.
func inexact(d dtype.Dtype) dtype.Dtype {
	if d.IsFloat() || d == dtype.Complex64 {
		return d
	}
	return dtype.Float32
}
