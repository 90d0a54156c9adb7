package steps

import (
	"fmt"

	"github.com/graphrun/graphrun/text/ordered"
)

// PostProcessor puts special tokens around the ids of a text. A nil one adds none.
type PostProcessor struct {
	items []item
}

// item is the text's ids, or special ids.
type item struct {
	text bool
	ids  []int32
}

// Around returns a processor that puts ids before and after the text.
func Around(before, after []int32) *PostProcessor {
	if len(before)+len(after) == 0 {
		return nil
	}
	return &PostProcessor{[]item{{ids: before}, {text: true}, {ids: after}}}
}

// NewPostProcessor reads the "post_processor" of a tokenizer file; null is none.
func NewPostProcessor(v any) (*PostProcessor, error) {
	items := []item{{text: true}}
	err := flatten(v, "post_processor", "processors", func(o *ordered.Object, kind string) error {
		outer, err := readPostProcessor(o, kind)
		if err != nil {
			return err
		}
		if len(items)*len(outer) > 1<<12 {
			return fmt.Errorf("the template grows beyond %d parts", 1<<12)
		}
		var out []item
		for _, it := range outer {
			if it.text {
				out = append(out, items...)
			} else {
				out = append(out, it)
			}
		}
		items = out
		return nil
	})
	if err != nil || len(items) == 1 && items[0].text {
		return nil, err
	}
	return &PostProcessor{items}, nil
}

// Apply returns ids as the template places them. Without special, its special tokens are left out.
func (p *PostProcessor) Apply(ids []int32, special bool) []int32 {
	if p == nil {
		return ids
	}
	var out []int32
	for _, it := range p.items {
		switch {
		case it.text:
			out = append(out, ids...)
		case special:
			out = append(out, it.ids...)
		}
	}
	return out
}

// IDs lists every special id that the processor may add.
func (p *PostProcessor) IDs() []int32 {
	if p == nil {
		return nil
	}
	var ids []int32
	for _, it := range p.items {
		ids = append(ids, it.ids...)
	}
	return ids
}

func readPostProcessor(o *ordered.Object, kind string) ([]item, error) {
	switch kind {
	case "ByteLevel": // moves offsets only
		return []item{{text: true}}, nil
	case "TemplateProcessing":
		return readTemplate(o)
	case "RobertaProcessing", "BertProcessing":
		first, err := readNamedID(o, "cls")
		if err != nil {
			return nil, err
		}
		last, err := readNamedID(o, "sep")
		return []item{{ids: []int32{first}}, {text: true}, {ids: []int32{last}}}, err
	}
	return nil, fmt.Errorf("unknown; known are TemplateProcessing, ByteLevel, RobertaProcessing, BertProcessing, Sequence")
}

// readNamedID reads ["<s>", 1].
func readNamedID(o *ordered.Object, key string) (int32, error) {
	pair, err := o.Array(key)
	if err != nil {
		return 0, err
	}
	if len(pair) == 2 {
		if id, ok := pair[1].(int64); ok && id >= 0 && id < 1<<31 {
			return int32(id), nil
		}
	}
	return 0, fmt.Errorf("%q must be a token and its id", key)
}

// readTemplate reads the template for a single text.
func readTemplate(o *ordered.Object) ([]item, error) {
	single, err := o.Array("single")
	if err != nil {
		return nil, err
	}
	special, err := o.Object("special_tokens")
	if err != nil {
		return nil, err
	}
	var items []item
	for i, piece := range single {
		p, ok := piece.(*ordered.Object)
		if !ok {
			return nil, fmt.Errorf("single[%d] must be an object, not %s", i, ordered.Kind(piece))
		}
		if seq, err := p.Object("Sequence"); err != nil {
			return nil, fmt.Errorf("single[%d]: %w", i, err)
		} else if seq != nil {
			if id, _, _ := seq.Text("id"); id != "A" {
				return nil, fmt.Errorf("single[%d] asks for a second text", i)
			}
			items = append(items, item{text: true})
			continue
		}
		token, err := p.Object("SpecialToken")
		if err != nil || token == nil {
			return nil, fmt.Errorf("single[%d] is neither a Sequence nor a SpecialToken", i)
		}
		name, _, err := token.Text("id")
		if err != nil {
			return nil, fmt.Errorf("single[%d]: %w", i, err)
		}
		ids, err := readSpecial(special, name)
		if err != nil {
			return nil, fmt.Errorf("single[%d]: %w", i, err)
		}
		items = append(items, item{ids: ids})
	}
	return items, nil
}

func readSpecial(special *ordered.Object, name string) ([]int32, error) {
	entry, err := special.Object(name)
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return nil, fmt.Errorf("%q is not among the special_tokens", name)
	}
	list, err := entry.Array("ids")
	if err != nil {
		return nil, fmt.Errorf("special token %q: %w", name, err)
	}
	var ids []int32
	for _, v := range list {
		id, ok := v.(int64)
		if !ok || id < 0 || id >= 1<<31 {
			return nil, fmt.Errorf("special token %q: %v is not an id", name, v)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}
