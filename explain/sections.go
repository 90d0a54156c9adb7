package explain

import (
	"fmt"
	"strings"
)

func (r *Report) statesText(b *strings.Builder) {
	if len(r.States) == 0 {
		return
	}
	b.WriteString("\nstates\n")
	t := &table{before: []string{"", "  "}}
	key := func(s *State) string {
		return fmt.Sprint(s.Kind, ArgsText(s.Args), s.Dtype, s.Scheme, s.PerPosition, s.Fixed, s.Rollback, s.Reads)
	}
	for _, g := range Alike(r.States, nil, func(s *State) string { return s.Path }, key) {
		s := &g.Items[0]
		var takes []string
		if s.PerPosition > 0 {
			takes = append(takes, Bytes(s.PerPosition)+"/position")
		}
		if s.Fixed > 0 {
			takes = append(takes, Bytes(s.Fixed))
		}
		rollback := ""
		if s.Rollback != "" {
			rollback = "rollback " + s.Rollback
		}
		stored := s.Dtype
		if s.Scheme != "" {
			stored = s.Scheme
		}
		t.add("  "+g.Path, times(len(g.Items)), s.Kind+ArgsText(s.Args), stored, strings.Join(takes, " + "), rollback)
		for _, r := range s.Reads {
			t.add("    read in "+r.Entry, "", "rows "+r.Rows.String(), r.Class, r.Line, "")
		}
	}
	t.write(b)
}

func (r *Report) programsText(b *strings.Builder) {
	b.WriteString("\nprograms\n")
	t := &table{before: []string{"", "  "}}
	for _, g := range r.Programs {
		outputs := "outputs " + strings.Join(g.Results, ", ")
		if len(g.Results) == 0 {
			outputs = "states only"
		}
		calls := fmt.Sprintf("%d calls", g.Calls)
		if g.Run < g.Calls {
			calls += fmt.Sprintf(", run as %d", g.Run)
		}
		t.add(fmt.Sprintf("  %d", g.Number), g.Entry, strings.Join(g.Guards, ", "), "rows "+g.Rows.String(), outputs, calls)
	}
	t.write(b)
}

func (r *Report) fusedText(b *strings.Builder) {
	if len(r.Fused) == 0 {
		return
	}
	b.WriteString("\nfused: calls that run as one, without changing a bit\n")
	t := &table{before: []string{"", "  "}}
	for _, f := range r.Fused {
		t.add("  "+f.Path, times(f.Times), f.Text, "rows "+f.Rows.String())
	}
	t.write(b)
}

func (r *Report) policyText(b *strings.Builder) {
	if len(r.Native) > 0 {
		fmt.Fprintf(b, "\nnative  %s: by the CPU's own kernels where they serve the call; bounded, not exact\n", strings.Join(r.Native, ", "))
	}
	if len(r.Submit) > 0 {
		b.WriteString("\nsubmit\n")
		t := &table{before: []string{"", "  "}}
		for _, s := range r.Submit {
			t.add("  rows "+s.Rows.String(), ArgsText(s.Args))
		}
		t.write(b)
	}
	if len(r.Verify) > 0 {
		var parts []string
		for _, c := range r.Verify {
			parts = append(parts, fmt.Sprintf("%d: %g", c.Rows, c.Cost))
		}
		fmt.Fprintf(b, "\nverify cost  %s\n", strings.Join(parts, ", "))
	}
}

func (r *Report) droppedText(b *strings.Builder) {
	if len(r.Dropped) == 0 {
		return
	}
	b.WriteString("\ndropped\n")
	t := &table{before: []string{"", "  "}}
	key := func(d *Dropped) string { return d.What + "\x00" + d.Why + "\x00" + d.Line }
	for _, g := range Alike(r.Dropped, nil, func(d *Dropped) string { return d.Path }, key) {
		d := &g.Items[0]
		path := g.Path
		if path == "" {
			path = "(root)"
		}
		t.add("  "+path, times(len(g.Items)), d.What, d.Why, d.Line)
	}
	t.write(b)
}

func (r *Report) memoryText(b *strings.Builder) {
	if len(r.Memory.Items) == 0 {
		return
	}
	fmt.Fprintf(b, "\nmemory\n")
	t := &table{before: []string{"", "  "}}
	for _, item := range r.Memory.Items {
		t.add("  "+item.Name, fmt.Sprintf("%11s", Bytes(item.Bytes)))
	}
	t.add("  in all", fmt.Sprintf("%11s", Bytes(r.Memory.Total)))
	t.write(b)
}

// Bytes writes a number of bytes with a unit of powers of 1024.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	x, i := float64(n), 0
	for x >= 1024 && i < len(units)-1 {
		x /= 1024
		i++
	}
	switch {
	case i == 0:
		return fmt.Sprintf("%d B", n)
	case x >= 100:
		return fmt.Sprintf("%.0f %s", x, units[i])
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") + " " + units[i]
}

// wrapped writes words in lines of at most 100 characters.
func wrapped(b *strings.Builder, words []string) {
	line := " "
	for i, w := range words {
		if i+1 < len(words) {
			w += ","
		}
		if len(line)+1+len(w) > 100 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + w
	}
	b.WriteString(line + "\n")
}
