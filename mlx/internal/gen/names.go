package main

import (
	"strings"
)

// initialisms are the words of the headers' names that Go writes in capitals.
var initialisms = map[string]string{
	"mm": "MM", "qmm": "QMM", "qqmm": "QQMM", "rms": "RMS", "fp8": "FP8", "1d": "1D", "2d": "2D", "3d": "3D",
}

// goName turns fast_rms_norm into FastRMSNorm.
func goName(op string) string {
	var b strings.Builder
	for _, w := range strings.Split(op, "_") {
		if w == "" {
			continue
		}
		if u, ok := initialisms[w]; ok {
			b.WriteString(u)
			continue
		}
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

// goParam turns group_size into groupSize, and keeps clear of keywords and of the receiver's name.
func goParam(name string) string {
	words := strings.Split(strings.Trim(name, "_"), "_")
	out := words[0]
	for _, w := range words[1:] {
		out += strings.ToUpper(w[:1]) + w[1:]
	}
	switch out {
	case "type":
		return "dtype"
	case "s":
		return "x"
	case "M":
		return "m"
	}
	return out
}
