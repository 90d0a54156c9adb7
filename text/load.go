package text

import "fmt"

// Loaded is the text part of a checkpoint.
type Loaded struct {
	Tokenizer   *Tokenizer
	Template    *Template            // the chat template, nil if there is none or it cannot be used
	Templates   map[string]*Template // the named ones ("tool_use", "rag"), without the one above
	TemplateErr error                // why a template that exists cannot be used
	Stops       Stops
	Warnings    []string
}

// TemplateFor returns the template for a conversation with or without tools.
func (l *Loaded) TemplateFor(tools bool) *Template {
	if t := l.Templates["tool_use"]; tools && t != nil {
		return t
	}
	return l.Template
}

// LoadGGUF builds tokenizer, template and stops from GGUF metadata.
func LoadGGUF(g GGUF) (*Loaded, error) {
	t, err := FromGGUF(g)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Tokenizer: t}
	special := map[string]string{}
	for name, id := range map[string]int32{
		"bos_token": t.roles.bos, "eos_token": t.roles.eos, "unk_token": t.roles.unk, "pad_token": t.roles.pad,
	} {
		if token, ok := t.Token(id); ok {
			special[name] = token
		}
	}
	l.useTemplates(map[string]string{"": g.ChatTemplate}, special)
	l.Stops.add(t, "eos_token_id", t.roles.eos)
	var ends []int32
	for _, id := range g.EndIDs {
		ends = append(ends, int32(id))
	}
	l.Stops.add(t, "eot_token_id", ends...)
	l.finish()
	return l, nil
}

func (l *Loaded) useTemplates(sources map[string]string, special map[string]string) {
	l.Templates = map[string]*Template{}
	for name, source := range sources {
		if source == "" {
			continue
		}
		t, err := NewTemplate(source, special)
		switch {
		case err != nil && name == "":
			l.TemplateErr = err
			l.Warnings = append(l.Warnings, fmt.Sprintf("the chat template cannot be used: %v", err))
		case err != nil:
			l.Warnings = append(l.Warnings, fmt.Sprintf("the chat template %q cannot be used: %v", name, err))
		case name == "":
			l.Template = t
		default:
			l.Templates[name] = t
		}
	}
}

// finish adds the template's end of turn and the warning about sources that disagree.
func (l *Loaded) finish() {
	if l.Template != nil {
		if id, ok := l.Template.EndOfTurn(l.Tokenizer); ok {
			l.Stops.add(l.Tokenizer, "the chat template", id)
		}
	}
	if w := l.Stops.Disagreement(l.Tokenizer); w != "" {
		l.Warnings = append(l.Warnings, w)
	}
}
