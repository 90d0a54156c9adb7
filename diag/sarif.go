package diag

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	home     = "https://github.com/graphrun/graphrun"
	helpPage = home + "/blob/main/docs/errors.md#" // and the code
	schema   = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

// FprintSARIF writes one log of SARIF 2.1.0 with one run, as code scanning services read it: a rule for each code that was
// found, with its explanation; the places with columns in UTF-16 units, for which source gives the lines (nil: columns
// stay in characters, which are the same but for characters outside the Basic Multilingual Plane); a fix where there is
// a "did you mean". version is the program's. Paths are written as they are in the diagnostics, relative ones relative
// to the root of the sources.
func FprintSARIF(w io.Writer, list []*Diagnostic, source SourceLine, version string) error {
	r := run{ColumnKind: "utf16CodeUnits", Invocations: []invocation{{true}}, Results: []result{}}
	r.Tool.Driver = driver{Name: "graphrun", Version: version, InformationURI: home, Rules: rulesOf(list)}
	p := sarifPlaces{source}
	for _, d := range list {
		r.Results = append(r.Results, p.result(d, r.Tool.Driver.Rules))
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: schema, Version: "2.1.0", Runs: []run{r}})
}

func rulesOf(list []*Diagnostic) []rule {
	rules := []rule{}
	for _, d := range list {
		at, known := findRule(rules, d.Code)
		if known {
			continue
		}
		r := rule{ID: d.Code, ShortDescription: text{Text: d.Code}}
		if e, ok := Explain(d.Code); ok {
			r.ShortDescription.Text = e.Title
			r.HelpURI = helpPage + d.Code
			if e.Text != "" {
				r.Help = &text{e.Text, e.Text}
			}
		}
		rules = slices.Insert(rules, at, r)
	}
	return rules
}

func findRule(rules []rule, code string) (int, bool) {
	return slices.BinarySearchFunc(rules, code, func(r rule, code string) int { return strings.Compare(r.ID, code) })
}

type sarifPlaces struct{ source SourceLine }

func (p sarifPlaces) result(d *Diagnostic, rules []rule) result {
	at, _ := findRule(rules, d.Code)
	level := map[Severity]string{Error: "error", Warning: "warning", Note: "note"}[d.Severity]
	r := result{RuleID: d.Code, RuleIndex: at, Level: level, Message: text{Text: strings.Join(append([]string{d.Message}, d.Help...), "\n")}}
	where := location{Physical: p.physical(d.At)}
	if d.Path != "" {
		where.Logical = []logical{{d.Path}}
	}
	if where.Physical != nil || where.Logical != nil {
		r.Locations = []location{where}
	}
	for i, other := range d.Related {
		r.Related = append(r.Related, location{ID: i + 1, Physical: p.physical(other.At), Message: &text{Text: other.Message}})
	}
	if word, ok := d.Fix(); ok && where.Physical != nil {
		r.Fixes = []fix{{
			Description: text{Text: "Write " + word},
			Changes:     []change{{where.Physical.Artifact, []replacement{{*where.Physical.Region, text{Text: word}}}}},
		}}
	}
	return r
}

func (p sarifPlaces) physical(r Range) *physical {
	if r.IsZero() {
		return nil
	}
	out := &physical{Artifact: artifact{sarifURI(r.File)}}
	if r.Line > 0 {
		end := max(r.EndLine, r.Line)
		out.Region = &region{StartLine: r.Line, StartColumn: p.column(r.File, r.Line, r.Col), EndLine: end, EndColumn: p.column(r.File, end, r.EndCol)}
		if end == r.Line {
			out.Region.EndColumn = max(out.Region.EndColumn, out.Region.StartColumn)
		}
	}
	return out
}

// column turns a column in characters into one in UTF-16 units; both count from 1.
func (p sarifPlaces) column(file string, line, col int) int {
	col = max(col, 1)
	if p.source == nil {
		return col
	}
	s, _ := p.source(file, line)
	before := min(col-1, utf8.RuneCountInString(s))
	return Units(s, before) + col - before
}

// sarifURI is a path as a URI reference: a relative path stays relative, an absolute one is a file's.
func sarifURI(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme, u.Path = "file", "/"+strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}

// The parts of SARIF 2.1.0 that are written, under the names of the standard.
type (
	sarifLog struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}
	run struct {
		Tool struct {
			Driver driver `json:"driver"`
		} `json:"tool"`
		Invocations []invocation `json:"invocations"`
		ColumnKind  string       `json:"columnKind"`
		Results     []result     `json:"results"`
	}
	driver struct {
		Name           string `json:"name"`
		Version        string `json:"version,omitempty"`
		InformationURI string `json:"informationUri"`
		Rules          []rule `json:"rules"`
	}
	rule struct {
		ID               string `json:"id"`
		ShortDescription text   `json:"shortDescription"`
		Help             *text  `json:"help,omitempty"`
		HelpURI          string `json:"helpUri,omitempty"`
	}
	invocation struct {
		Successful bool `json:"executionSuccessful"`
	}
	result struct {
		RuleID    string     `json:"ruleId"`
		RuleIndex int        `json:"ruleIndex"`
		Level     string     `json:"level"`
		Message   text       `json:"message"`
		Locations []location `json:"locations,omitempty"`
		Related   []location `json:"relatedLocations,omitempty"`
		Fixes     []fix      `json:"fixes,omitempty"`
	}
	location struct {
		ID       int       `json:"id,omitempty"`
		Physical *physical `json:"physicalLocation,omitempty"`
		Logical  []logical `json:"logicalLocations,omitempty"`
		Message  *text     `json:"message,omitempty"`
	}
	physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   *region  `json:"region,omitempty"`
	}
	artifact struct {
		URI string `json:"uri"`
	}
	region struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
	logical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
	text struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	fix struct {
		Description text     `json:"description"`
		Changes     []change `json:"artifactChanges"`
	}
	change struct {
		Artifact     artifact      `json:"artifactLocation"`
		Replacements []replacement `json:"replacements"`
	}
	replacement struct {
		Deleted  region `json:"deletedRegion"`
		Inserted text   `json:"insertedContent"`
	}
)
