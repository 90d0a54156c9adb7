package header

// GGUFTokenizer is what GGUF metadata says of the tokenizer. Ids are -1 and lists nil where nothing is said.
type GGUFTokenizer struct {
	Model        string // "gpt2" (byte-level BPE), "llama" (sentencepiece) …
	Pre          string // names the pre-tokenizer: "smollm", "qwen2" …
	Tokens       []string
	Types        []int64 // by token: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
	Scores       []float64
	Merges       []string // "left right", best first
	BOS, EOS     int64
	EOT, EOM     int64 // end of turn, end of message
	Unknown      int64
	Separator    int64
	Padding      int64
	Mask         int64
	AddBOS       *bool
	AddEOS       *bool
	AddPrefix    *bool // a space before the text
	ChatTemplate string
}

const tokenizerPrefix = "tokenizer.ggml."

// Tokenizer reads the tokenizer's metadata; it takes a while (some ten milliseconds), since the lists are long.
func (m *GGUFMeta) Tokenizer() (*GGUFTokenizer, error) {
	t := new(GGUFTokenizer)
	var err error
	read := func(key string, f func(key string) error) {
		if err == nil && m.Has(key) {
			err = f(key)
		}
	}
	text := func(to *string) func(string) error {
		return func(key string) (err error) { *to, err = m.Text(key); return err }
	}
	texts := func(to *[]string) func(string) error {
		return func(key string) (err error) { *to, err = m.Texts(key); return err }
	}
	read(tokenizerPrefix+"model", text(&t.Model))
	read(tokenizerPrefix+"pre", text(&t.Pre))
	read(tokenizerPrefix+"tokens", texts(&t.Tokens))
	read(tokenizerPrefix+"merges", texts(&t.Merges))
	read("tokenizer.chat_template", text(&t.ChatTemplate))
	read(tokenizerPrefix+"token_type", func(key string) (err error) { t.Types, err = m.Ints(key); return err })
	read(tokenizerPrefix+"scores", func(key string) (err error) { t.Scores, err = m.Floats(key); return err })
	for _, id := range []struct {
		key string
		to  *int64
	}{{"bos_token_id", &t.BOS}, {"eos_token_id", &t.EOS}, {"eot_token_id", &t.EOT}, {"eom_token_id", &t.EOM}, {"unknown_token_id", &t.Unknown},
		{"seperator_token_id", &t.Separator}, {"padding_token_id", &t.Padding}, {"mask_token_id", &t.Mask}} {
		*id.to = -1
		read(tokenizerPrefix+id.key, func(key string) (err error) { *id.to, err = m.Int(key); return err })
	}
	for _, flag := range []struct {
		key string
		to  **bool
	}{{"add_bos_token", &t.AddBOS}, {"add_eos_token", &t.AddEOS}, {"add_space_prefix", &t.AddPrefix}} {
		read(tokenizerPrefix+flag.key, func(key string) error {
			b, err := m.Bool(key)
			*flag.to = &b
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}
