package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// signature is the Go method's, without "func". Neighbours of one type share it, as gofmt's readers expect.
func signature(f function) string {
	var names, types []string
	for _, p := range f.Params {
		if p.Kind == kStream {
			continue
		}
		names = append(names, goParam(p.Name))
		types = append(types, goType(p.Kind))
	}
	var ps []string
	for i, n := range names {
		if i+1 < len(types) && types[i+1] == types[i] {
			ps = append(ps, n)
		} else {
			ps = append(ps, n+" "+types[i])
		}
	}
	return fmt.Sprintf("(s *Scope) %s(%s) %s", f.Go, strings.Join(ps, ", "),
		map[result]string{rOne: "Array", rTwo: "(Array, Array)", rMany: "[]Array"}[f.Result])
}

func goType(k kind) string {
	return map[kind]string{
		kArray: "Array", kArrays: "[]Array", kInt: "int", kInts: "[]int", kInt64s: "[]int64", kSize: "int",
		kUint64: "uint64", kBool: "bool", kFloat: "float32", kDouble: "float64", kText: "string", kDtype: "Dtype",
		kOptInt: "int", kOptFloat: "Opt[float32]", kOptDtype: "Opt[Dtype]",
	}[k]
}

// comment says which call it is, and what may be left out.
func comment(f function) string {
	var absent, defaults []string
	for _, p := range f.Params {
		switch {
		case p.Kind == kArray && p.Optional:
			absent = append(absent, goParam(p.Name))
		case p.Kind == kOptInt:
			defaults = append(defaults, goParam(p.Name))
		}
	}
	text := fmt.Sprintf("%s is %s.", f.Go, f.C)
	if note := notes[f.Op]; note != "" {
		text += " " + note
	}
	if len(absent) > 0 {
		text += " " + upper(list(absent)) + " may be absent."
	}
	if len(defaults) > 0 {
		text += " " + upper(list(defaults)) + " of 0: MLX's default for the mode."
	}
	return wrap(text)
}

// wrap makes comment lines of at most 120 columns.
func wrap(text string) string {
	var b strings.Builder
	column := 0
	for _, w := range strings.Fields(text) {
		n := utf8.RuneCountInString(w)
		switch {
		case column == 0:
			b.WriteString("// ")
			column = 3
		case column+1+n > 120:
			b.WriteString("\n// ")
			column = 3
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(w)
		column += n
	}
	return b.String()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func list(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func nativeBody(f function) string {
	var args []string
	for _, p := range f.Params {
		n := goParam(p.Name)
		switch p.Kind {
		case kArray:
			args = append(args, "C.uintptr_t("+n+".ctx)")
		case kStream:
			args = append(args, "C.uintptr_t(s.stream.ctx)")
		case kArrays:
			args = append(args, "handles("+n+")", "C.size_t(len("+n+"))")
		case kInts:
			args = append(args, "ints("+n+")", "C.size_t(len("+n+"))")
		case kInt64s:
			args = append(args, "int64s("+n+")", "C.size_t(len("+n+"))")
		case kInt, kSize, kOptInt:
			args = append(args, "C.int64_t("+n+")")
		case kUint64:
			args = append(args, "C.uint64_t("+n+")")
		case kBool:
			args = append(args, "C.bool("+n+")")
		case kFloat:
			args = append(args, "C.float("+n+")")
		case kDouble:
			args = append(args, "C.double("+n+")")
		case kText:
			args = append(args, "chars("+n+")", "C.size_t(len("+n+"))")
		case kDtype:
			args = append(args, "C.int("+n+")")
		case kOptFloat:
			args = append(args, "C.float("+n+".Value)", "C.bool("+n+".Valid)")
		case kOptDtype:
			args = append(args, "C.int("+n+".Value)", "C.bool("+n+".Valid)")
		}
	}
	zero, take := "Array{}", "one"
	switch f.Result {
	case rTwo:
		zero, take = "Array{}, Array{}", "two"
	case rMany:
		zero, take = "nil", "many"
	}
	return fmt.Sprintf("\tif s.err != nil {\n\t\treturn %s\n\t}\n\treturn s.%s(%q, C.%s(%s))\n", zero, take, f.Op,
		shimName(f), strings.Join(args, ", "))
}

func stubBody(f function) string {
	zero := map[result]string{rOne: "Array{}", rTwo: "Array{}, Array{}", rMany: "nil"}[f.Result]
	return fmt.Sprintf("\ts.Fail(ErrNoMLX)\n\treturn %s\n", zero)
}

func emitNative(g group) string {
	var b strings.Builder
	b.WriteString(generated + "\n//go:build cgo && mlx\n\npackage mlx\n\n/*\n")
	// The shims build lazy nodes: they keep no pointer of Go's and never call back.
	for _, f := range g.Functions {
		fmt.Fprintf(&b, "#cgo noescape %s\n#cgo nocallback %s\n", shimName(f), shimName(f))
	}
	b.WriteString("#include \"shim_gen.h\"\n*/\nimport \"C\"\n")
	for _, f := range g.Functions {
		fmt.Fprintf(&b, "\n%s\nfunc %s {\n%s}\n", comment(f), signature(f), nativeBody(f))
	}
	return b.String()
}

func emitStub(groups []group) string {
	var b strings.Builder
	b.WriteString(generated + "\n//go:build !(cgo && mlx)\n\npackage mlx\n")
	for _, g := range groups {
		for _, f := range g.Functions {
			fmt.Fprintf(&b, "\n%s\nfunc %s {\n%s}\n", comment(f), signature(f), stubBody(f))
		}
	}
	return b.String()
}
