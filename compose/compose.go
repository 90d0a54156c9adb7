// Package compose turns a graph file, a config and a checkpoint's headers into a plan. It opens no weight and needs no
// MLX: everything is decided here, or refused with the place and the reason. The steps stand one per file: library
// (read), choose, static (names), view, expand, ports (bind), program (lifetimes), audit.
package compose

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// Request is what to compose.
type Request struct {
	// Graph is a file of the user's; empty: the shipped model that recognises the config. A variant or rules are composed
	// with the model of the config, or with those of its examples.
	Graph string
	// Model is the name of a shipped model, variant or rules to compose, where Graph is empty; empty: the model that
	// recognises the config.
	Model string
	// Example is the number (from 1) or the name of the file's example to compose it for, where there is no Config; empty:
	// for all, and no plan is made.
	Example string
	// Overlay holds texts that stand for files of the user's, by cleaned path: those that an editor has open. A file that is
	// not on the disk is there if it is here.
	Overlay map[string][]byte
	// Shipped holds models/, blocks/, variants/ and rules/, whose names and types are right: they are not checked again.
	Shipped fs.FS
	// Config is config.json; nil: names and types are checked, nothing is expanded.
	Config *header.Config
	// Checkpoint holds the tensors' headers; nil: each weight is as the graph needs it.
	Checkpoint *header.Checkpoint
	Registry   *registry.Registry
	// Shared is what one request leaves for the next; nil: nothing.
	Shared *Shared
	// Force makes a warning of a Graph that does not recognise the config.
	Force bool
	// Variants are names of shipped variants or files, in the order they follow on one another.
	Variants []string
	// Exact leaves out the variants that are taken by default.
	Exact  bool
	Device Device
	Use    Use
	// Rules are names of shipped rules or files that the plan is held to.
	Rules []string
	// Check tells that what is found is asked, and no program: the plan is then without them, unless rules ask it.
	Check bool
	plain bool // for tests: shipped files are checked, and each layer is expanded, none copied
	// Memory estimates a plan for rules; nil where rules may not ask it.
	Memory func(p *plan.Plan, context, batch int) ([]MemoryLine, error)
}

// MemoryLine is one item of a memory estimate.
type MemoryLine struct {
	Name  string
	Bytes int64
}

// Device is what a variant may ask of the machine. The zero value is a CPU.
type Device struct {
	Kind   string // cpu, gpu; "": cpu
	Arch   string // as MLX names it
	ANE    bool
	Memory int64 // bytes
}

// Use is what a variant or rule may ask of how the plan will be used. Zero values stand for the defaults.
type Use struct {
	Context      int    // positions; 4096
	Batch        int    // sequences; 1
	DraftTokens  int    // 0
	Chunk        int    // of a prompt; 2048
	MemoryBudget int64  // bytes; 0: no limit
	Adapters     bool   // whether adapters will be used
	KV           string // scheme of caches
}

// Result is a plan, if there are no errors, with everything that was found and the files that findings point into.
type Result struct {
	Plan        *plan.Plan
	Diagnostics *diag.List
	Sources     map[string]*source.File
	Model       string
	Fingerprint string   // of the checkpoint's canonical tensors; "" without one
	Audit       *Audit   // nil without a checkpoint, or where its view could not be applied
	Examples    []string // of the file's own, those that it was composed for, where the request has no config
	Example     *Example // that the plan is for
}

// Audit is what a model makes of a checkpoint's tensors, also where there are errors.
type Audit struct {
	View *view.Result // the tensors under the names that the model has for them
	// Plan has the tensors that are used. Where not Whole, errors kept parts of the graph from being expanded, and what
	// they would use is not in it.
	Plan  *plan.Plan
	Whole bool
}

type composer struct {
	req  Request
	list *diag.List
	lib  *library
	ex   *expr.Engine
	reg  *registry.Registry

	finder   *finder          // answers tensors('glob') for whoever composes
	declared *Example         // whose facts these are; nil: the request's own
	checking *syntax.Document // that static checking looks at
	besides  *syntax.Document // the variant or rules that are composed with a model
	sorted   map[*syntax.Call]*sortedCall
	apart    map[*syntax.Node][]*syntax.Node

	model       *syntax.Document
	config      expr.Value
	asked       map[string]bool
	quant       header.Quantization
	storedQuant header.Quantization // before the view
	activation  dtype.Dtype         // of the first embedding: what states and imagined weights are
	index       *pattern.Index

	recipes     map[string]*view.Recipe // nil without a checkpoint
	viewed      *view.Result            // likewise
	viewDropped []string

	plan *plan.Plan
	tables
	whole          bool               // every entry is expanded and bound
	groups         map[string]sharing // buffer groups of classes
	kv             kvScheme           // of caches, as the request asks
	entry          string             // that is expanded
	offeredEntries []string           // in order
	probe          *probe
	offTensors     map[string]bool // of entries that are not offered
	variants       []*variant
	fused          []string // operators that classes take into their own calls
}

// tables are what expanding found so far, as indices into the plan.
type tables struct {
	rootScalars map[string]*scalar // the model's parameters and lets
	tensorIndex map[string]int
	lacking     map[string]*lack // by place and name without numbers
	weights     map[string]int
	facts       []int // of each weight: equal ones have one number
	factNumbers map[plan.Facts]int
	exact       map[exactKey]*registry.Class
	ports       map[portKey]*resolved
	states      map[string]int
	opened      map[string]string // the operator that takes a cache's arrays, by the path of the state
	instances   map[string]int
	notes       []portNote // of each port
	grouped     map[portKey]*groupDecl
	groupOrder  []portKey
}

// portNote is what binding has to know of a port beside what the plan says of it.
type portNote struct {
	second string      // of a part: its tensors' path, another name of it
	odd    *diag.Range // where it is called with other leading dims than [B, T]
	topK   int         // of experts: the last dim of the indices
	group  int         // 1 + the group's port that it is in, 0: none
	twin   int         // the port of that path in an entry before, bound alike; -1: none
	parts  int         // of an mlp or its pair: the first of the ports before it that are its parts
}

// portKey names a port: one path is bound in each entry by itself.
type portKey struct{ entry, path string }

// Compose makes a plan. Result.Plan is nil where there are errors or no config; err is for what is no one's file: a
// broken installation or a cancelled context.
func Compose(ctx context.Context, req Request) (*Result, error) {
	c := &composer{req: req, list: &diag.List{}, reg: req.Registry, asked: map[string]bool{}}
	shared, err := req.Shared, error(nil)
	if shared == nil {
		if shared, err = NewShared(); err != nil {
			return nil, err
		}
	}
	c.lib = newLibrary(shared, req.Shipped, req.Overlay, c.list)
	c.ex, c.finder = shared.ex, shared.finder
	c.finder.of = c
	out := &Result{Diagnostics: c.list, Sources: c.lib.sources}
	if err := c.readConfig(); err != nil {
		c.list.Errorf("quantization", diag.Range{File: req.Config.Path}, "%v", err)
		return out, nil
	}
	if c.kv, err = parseKV(req.Use.KV); err != nil {
		c.list.Errorf("bad-word", diag.Range{File: "request"}, "%v", err).Helped("%s", kvForms)
		return out, nil
	}
	defer c.noUnused()
	doc := c.choose()
	if doc == nil {
		return out, nil
	}
	if doc.Kind == "variant" || doc.Kind == "rules" {
		if !c.checkBesides(doc) {
			return out, nil
		}
		if req.Config == nil {
			return out, c.examples(ctx, doc, out)
		}
		c.besides, c.req.Graph, c.req.Model = doc, "", ""
		if doc.Kind == "variant" {
			doc = c.modelOf(doc, doc.Name.At)
		} else {
			doc = c.choose()
		}
		if doc == nil {
			return out, nil
		}
	}
	if doc = c.merged(doc); doc == nil {
		return out, nil
	}
	out.Model = doc.Name.Text
	c.static(doc)
	if c.list.HasErrors() || doc.Kind != "model" {
		return out, nil
	}
	if req.Config == nil {
		return out, c.examples(ctx, doc, out)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.compose(doc)
	c.result(out)
	return out, nil
}

// noUnused leaves out what nothing uses where there are errors: that may hang on them.
func (c *composer) noUnused() {
	if c.list.HasErrors() {
		c.list.Remove(func(d *diag.Diagnostic) bool {
			return d.Severity == diag.Warning && strings.HasPrefix(d.Code, "unused-")
		})
	}
}

// result tells what composing gave.
func (c *composer) result(out *Result) {
	if c.model == nil {
		return
	}
	out.Model = c.model.Name.Text
	if !c.list.HasErrors() {
		out.Plan = c.plan
	}
	if c.recipes != nil {
		out.Fingerprint = c.fingerprint()
		out.Audit = &Audit{View: c.viewed, Plan: c.plan, Whole: c.whole}
	}
}

// readConfig makes `config` and the quantisation table of the request.
func (c *composer) readConfig() error {
	if c.req.Config != nil {
		c.config = expr.Config(c.req.Config.Path, c.req.Config.Values, c.asked)
	}
	if c.req.Checkpoint != nil {
		c.quant = c.req.Checkpoint.Quantization
	} else if c.req.Config != nil {
		q, err := header.ReadQuantization(c.req.Config)
		if err != nil {
			return err
		}
		c.quant = q
	}
	return nil
}

// compose goes through the steps that need a config.
func (c *composer) compose(doc *syntax.Document) {
	c.model = doc
	c.plan = &plan.Plan{Model: doc.Name.Text}
	if !c.applyView(doc) || !c.loadVariants(doc) {
		return
	}
	// A variant may ask what the view made (the fingerprint), and the view may hang on what a variant sets.
	if c.setsModel() && !c.applyView(doc) {
		return
	}
	if c.recipes == nil {
		c.activation = c.defaultDtype(dtype.Bfloat16)
	} else {
		c.activation = c.storedActivation()
	}
	if !c.entries(doc) {
		return
	}
	c.whole = true
	c.computed()
	c.audit()
	c.checkRules()
}

// reset forgets what one expansion found, so that the next begins anew.
func (c *composer) reset() {
	c.tables = tables{tensorIndex: map[string]int{}, lacking: map[string]*lack{}, weights: map[string]int{}, factNumbers: map[plan.Facts]int{}, exact: map[exactKey]*registry.Class{}, ports: map[portKey]*resolved{}, states: map[string]int{}, opened: map[string]string{},
		instances: map[string]int{}, grouped: map[portKey]*groupDecl{}}
	c.offTensors = map[string]bool{}
}

// storedActivation is the float dtype that most tensors have: what the activations are until an operator says
// otherwise. It matters only for states that are read before they are written and for uint8 scales.
func (c *composer) storedActivation() dtype.Dtype {
	counts := map[dtype.Dtype]int{}
	best := dtype.Bfloat16
	for _, name := range sortedKeys(c.recipes) {
		if d := c.recipes[name].Dtype; d.IsFloat() {
			if counts[d]++; counts[d] > counts[best] {
				best = d
			}
		}
	}
	return best
}

// configSeen tells whether `config` may be used in a body: models alone see it.
func (c *composer) configSeen(f *frame) bool {
	return f.doc != nil && f.doc.Kind == "model" && c.req.Config != nil
}

// finder answers tensors('glob') for the composer that is at work: those of a file's examples share their expressions.
type finder struct{ of *composer }

func (f *finder) find(glob string) ([]expr.Tensor, error) { return f.of.findTensors(glob) }

// findTensors answers tensors('glob') over the checkpoint's own names.
func (c *composer) findTensors(glob string) ([]expr.Tensor, error) {
	if c.req.Checkpoint == nil {
		return nil, nil
	}
	p, err := pattern.Compile(glob)
	if err != nil {
		return nil, err
	}
	if c.index == nil {
		names := make([]string, len(c.req.Checkpoint.Tensors))
		for i, t := range c.req.Checkpoint.Tensors {
			names[i] = t.Name
		}
		c.index = pattern.NewIndex(names)
	}
	var out []expr.Tensor
	for _, m := range c.index.Find(p) {
		if t, ok := c.req.Checkpoint.Lookup(m.Name); ok {
			out = append(out, expr.Tensor{Name: t.Name, Shape: t.Shape, Dtype: t.Dtype.String()})
		}
	}
	return out, nil
}

func (c *composer) unknownCallee(from *syntax.Document, w syntax.Word, ports []string) {
	names := slices.Clone(c.lib.blockNames(from))
	for _, o := range c.reg.Operators() {
		names = append(names, o.Name)
	}
	c.callWhat(c.list.Errorf("unknown-callee", w.At, "%s is no port in scope, no operator and no block", w.Text), w.Text, ports, names)
}

func (c *composer) unknownInput(p place, w syntax.Word) {
	d := c.list.Errorf("unknown-name", w.At, "%s is not a value, weight, state or number here", w.Text).In(p.prefix)
	names := p.Names()
	for f := p.frame; f != nil; f = f.outer {
		names = append(names, sortedKeys(f.weights)...)
		names = append(names, sortedKeys(f.states)...)
	}
	d.Among(w.Text, names, "names here")
}
