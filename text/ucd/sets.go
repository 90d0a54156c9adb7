package ucd

import "unicode"

// Space reports whether r has the property White_Space, on which all versions agree.
func Space(r rune) bool {
	if r < 0x80 {
		return r == ' ' || r >= '\t' && r <= '\r'
	}
	return unicode.Is(unicode.White_Space, r)
}

// Word is \w of the regular expressions.
func Word(r rune) bool { return load().sets["word"].Contains(r) }

// RustWord is \w of Rust's regex crate, which single-word added tokens and the Whitespace pre-tokeniser use.
func RustWord(r rune) bool { return load().sets["rust_word"].Contains(r) }

// Numeric is Rust's char::is_numeric: decimal digits, letter-like and other numbers.
func Numeric(r rune) bool {
	if r < 0x80 {
		return r >= '0' && r <= '9'
	}
	return load().sets["rust_numeric"].Contains(r)
}

// Punctuation is what the Punctuation and Bert pre-tokenisers split at: ASCII symbols and category P.
func Punctuation(r rune) bool { return load().sets["rust_punctuation"].Contains(r) }

// CombiningMark is what the StripAccents normaliser removes.
func CombiningMark(r rune) bool { return r >= 0x300 && load().sets["rust_mark"].Contains(r) }

// Nonspacing is what the Bert normaliser removes as an accent after decomposing.
func Nonspacing(r rune) bool { return r >= 0x300 && load().sets["rust_nonspacing"].Contains(r) }

// Dropped is what the Bert normaliser's cleaning removes: controls, formats, private use, U+FFFD.
func Dropped(r rune) bool { return load().sets["rust_other"].Contains(r) }

// Active reports whether r takes part in normalisation: it decomposes, reorders, or composes with what precedes it.
func Active(r rune) bool { return load().sets["active"].Contains(r) }

// AppendLower appends the lowercase of r by itself, without the context that a final sigma has. It is one code point
// but for U+0130, which gives two.
func AppendLower(b []byte, r rune) []byte {
	if r >= 0x80 {
		if s, ok := load().lower[r]; ok {
			return append(b, s...)
		}
	}
	return append(b, string(unicode.ToLower(r))...)
}

// Words is the set of Word.
func Words() *Table { return load().sets["word"] }
