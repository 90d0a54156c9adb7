package diag

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

func sarifOf(t *testing.T, list []*Diagnostic, source SourceLine) (text string, doc map[string]any) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, FprintSARIF(&b, list, source, "1.2.3"))
	require.NoError(t, json.Unmarshal(b.Bytes(), &doc))
	return b.String(), doc
}

var sarifCases = []*Diagnostic{
	{Code: "unknown-name", Message: "hiden is not a name here", At: Range{"my graphs/a.yaml", 3, 12, 3, 17}, Path: "model.layers.0",
		Related: []Related{{"also here", Range{"/abs/b#.yaml", 1, 1, 2, 4}}, {"a file", Range{File: "config.json"}}}, Help: []string{"did you mean hidden?"}},
	{Code: "unused-let", Severity: Warning, Message: "unused", At: Range{"my graphs/a.yaml", 3, 12, 3, 17}, Help: []string{"did you mean one of a, b?"}},
	{Code: "unused-tensor", Message: "over lines", At: Range{"my graphs/a.yaml", 2, 1, 4, 2}},
	{Code: "not-a-code", Severity: Note, Message: "nowhere"},
}

func sarifSource(file string, line int) (string, bool) {
	return map[int]string{2: "let:", 3: "  # 😀 {x: [hiden]}", 4: "}"}[line], file == "my graphs/a.yaml"
}

func TestSARIF(t *testing.T) {
	text, doc := sarifOf(t, sarifCases, sarifSource)
	require.Equal(t, "2.1.0", doc["version"])
	run := doc["runs"].([]any)[0].(map[string]any)
	require.Equal(t, "utf16CodeUnits", run["columnKind"])
	rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
	results := run["results"].([]any)
	require.Len(t, results, len(sarifCases))
	for i, r := range results {
		r := r.(map[string]any)
		require.Equal(t, sarifCases[i].Code, r["ruleId"])
		rule := rules[int(r["ruleIndex"].(float64))].(map[string]any)
		require.Equal(t, sarifCases[i].Code, rule["id"])
		if e, ok := Explain(sarifCases[i].Code); ok {
			require.Equal(t, "https://github.com/graphrun/graphrun/blob/main/docs/errors.md#"+e.Code, rule["helpUri"])
			require.Equal(t, e.Text, rule["help"].(map[string]any)["markdown"])
		}
	}
	first, err := json.MarshalIndent(results[0], "", "  ")
	require.NoError(t, err)
	require.Equal(t, `{
  "fixes": [
    {
      "artifactChanges": [
        {
          "artifactLocation": {
            "uri": "my%20graphs/a.yaml"
          },
          "replacements": [
            {
              "deletedRegion": {
                "endColumn": 18,
                "endLine": 3,
                "startColumn": 13,
                "startLine": 3
              },
              "insertedContent": {
                "text": "hidden"
              }
            }
          ]
        }
      ],
      "description": {
        "text": "Write hidden"
      }
    }
  ],
  "level": "error",
  "locations": [
    {
      "logicalLocations": [
        {
          "fullyQualifiedName": "model.layers.0"
        }
      ],
      "physicalLocation": {
        "artifactLocation": {
          "uri": "my%20graphs/a.yaml"
        },
        "region": {
          "endColumn": 18,
          "endLine": 3,
          "startColumn": 13,
          "startLine": 3
        }
      }
    }
  ],
  "message": {
    "text": "hiden is not a name here\ndid you mean hidden?"
  },
  "relatedLocations": [
    {
      "id": 1,
      "message": {
        "text": "also here"
      },
      "physicalLocation": {
        "artifactLocation": {
          "uri": "file:///abs/b%23.yaml"
        },
        "region": {
          "endColumn": 4,
          "endLine": 2,
          "startColumn": 1,
          "startLine": 1
        }
      }
    },
    {
      "id": 2,
      "message": {
        "text": "a file"
      },
      "physicalLocation": {
        "artifactLocation": {
          "uri": "config.json"
        }
      }
    }
  ],
  "ruleId": "unknown-name",
  "ruleIndex": 1
}`, string(first))
	require.NotContains(t, results[1], "fixes", "several words are meant")
	require.NotContains(t, results[3], "locations")
	require.Contains(t, text, `"version": "1.2.3"`)

	_, doc = sarifOf(t, nil, nil)
	require.Equal(t, []any{}, doc["runs"].([]any)[0].(map[string]any)["results"], "nothing was found")
}

// TestSARIFSchema holds the output to the schema of the standard, whose file GRAPHRUN_SARIF_SCHEMA names.
func TestSARIFSchema(t *testing.T) {
	path := os.Getenv("GRAPHRUN_SARIF_SCHEMA")
	if path == "" {
		t.Skip("GRAPHRUN_SARIF_SCHEMA does not name sarif-schema-2.1.0.json")
	}
	s, err := jsonschema.NewCompiler().Compile(path)
	require.NoError(t, err)
	for _, list := range [][]*Diagnostic{sarifCases, nil} {
		text, _ := sarifOf(t, list, sarifSource)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
		require.NoError(t, err)
		require.NoError(t, s.Validate(doc))
	}
}

func TestFix(t *testing.T) {
	at := Range{"f", 1, 2, 1, 5}
	for name, c := range map[string]struct {
		d    Diagnostic
		want string
	}{
		"one":        {Diagnostic{At: at, Help: []string{"another line", "did you mean a.b?"}}, "a.b"},
		"two":        {Diagnostic{At: at, Help: []string{"did you mean a?", "did you mean b?"}}, ""},
		"words":      {Diagnostic{At: at, Help: []string{"did you mean a, b?"}}, ""},
		"no place":   {Diagnostic{At: Range{File: "f"}, Help: []string{"did you mean a?"}}, ""},
		"empty":      {Diagnostic{At: Range{"f", 1, 2, 1, 2}, Help: []string{"did you mean a?"}}, ""},
		"over lines": {Diagnostic{At: Range{"f", 1, 2, 2, 5}, Help: []string{"did you mean a?"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := c.d.Fix()
			require.Equal(t, c.want, got)
			require.Equal(t, c.want != "", ok)
		})
	}
}
