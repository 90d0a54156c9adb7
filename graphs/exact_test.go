package graphs_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
)

const exactClasses = `graphrun: v1
kind: variant
name: exact-classes
doc: The exact class of every storage, by name.
of: '*'
bind:
- {ports: '**', kind: [linear, head, embedding, multi_linear], when: weight.storage == 'dense', class: dense}
- {ports: '**', kind: [linear, head, embedding, multi_linear], when: weight.storage == 'affine', class: affine}
- {ports: '**', kind: experts, when: port.storage == 'dense', class: dense}
- {ports: '**', kind: experts, when: port.storage == 'affine', class: affine}
- {ports: '**', kind: mlp, class: mlp.unfused}
`

// TestExactClassesByName: a variant that binds the exact classes runs the very calls of the plan without it, of every shipped model,
// dense and quantised; so every bit is as it was.
func TestExactClassesByName(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	variant := filepath.Join(t.TempDir(), "exact-classes.yaml")
	require.NoError(t, os.WriteFile(variant, []byte(exactClasses), 0o644))
	examples, err := fs.Glob(graphs.Files, "models/examples/*.json")
	require.NoError(t, err)
	for _, name := range examples {
		data, err := fs.ReadFile(graphs.Files, name)
		require.NoError(t, err)
		for _, quantised := range []bool{false, true} {
			text := string(data)
			if quantised && !strings.Contains(text, `"quantization"`) {
				text = strings.Replace(text, "{", `{"quantization": {"group_size": 32, "bits": 4}, `, 1)
			}
			made := func(variants ...string) *plan.Plan {
				config, err := header.ParseConfig(name, bytes.NewReader([]byte(text)))
				require.NoError(t, err)
				r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Config: config, Variants: variants, Exact: true})
				require.NoError(t, err)
				require.NotNil(t, r.Plan, "%s: %v", name, r.Diagnostics.Sorted())
				return r.Plan
			}
			plain, named := made(), made(variant)
			require.Equal(t, plain.Programs, named.Programs, "%s, quantised: %v", name, quantised)
			require.Equal(t, plain.Weights, named.Weights, name)
			require.Len(t, named.Instances, len(plain.Instances), name)
			for i := range plain.Instances {
				a, b := plain.Instances[i], named.Instances[i]
				b.At = a.At // the bind line's
				require.Equal(t, a, b, name)
			}
		}
	}
}
