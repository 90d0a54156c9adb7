// Package jinja renders Jinja templates as Python does with the settings of transformers' chat templates: an immutable
// sandbox, no escaping, tojson without escaped HTML, raise_exception, strftime_now, loop controls.
//
// A template is code that comes with a checkpoint, so it runs on a budget: steps, nesting, the size of every value and of
// the output are bounded, and what it can reach is what it is given. Errors carry the line of the template.
//
// The values are in package py, the grammar in package syntax. The package never loads other templates, never reads the
// clock by itself and never escapes HTML unless a template asks for it.
package jinja
