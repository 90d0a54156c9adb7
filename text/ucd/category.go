package ucd

import (
	"slices"
	"strings"
)

// Category is a general category. The zero value is Cn, unassigned.
type Category uint8

var categoryNames = [...]string{
	"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
	"Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs",
}

var longNames = map[string]string{
	"letter": "L", "casedletter": "LC", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt",
	"modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "combiningmark": "M", "nonspacingmark": "Mn",
	"spacingmark": "Mc", "enclosingmark": "Me", "number": "N", "decimalnumber": "Nd", "letternumber": "Nl",
	"othernumber": "No", "punctuation": "P", "punct": "P", "connectorpunctuation": "Pc", "dashpunctuation": "Pd",
	"openpunctuation": "Ps", "closepunctuation": "Pe", "initialpunctuation": "Pi", "finalpunctuation": "Pf",
	"otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm", "currencysymbol": "Sc", "modifiersymbol": "Sk",
	"othersymbol": "So", "separator": "Z", "spaceseparator": "Zs", "lineseparator": "Zl", "paragraphseparator": "Zp",
	"other": "C", "control": "Cc", "format": "Cf", "privateuse": "Co", "surrogate": "Cs", "unassigned": "Cn",
}

// Mask is a set of categories, bit n for category n.
type Mask uint32

// Of returns the category of r.
func Of(r rune) Category {
	if r < 0 || r > 0x10FFFF {
		return 0
	}
	return load().pages[r/pageSize][r%pageSize]
}

// Has reports whether the category of r is in the set.
func (m Mask) Has(r rune) bool { return m>>Of(r)&1 != 0 }

// CategoryMask returns the categories that a property name stands for: "L", "Lu", "Letter", "uppercase_letter".
func CategoryMask(name string) (Mask, bool) {
	folded := loose(name)
	if short, ok := longNames[folded]; ok {
		folded = strings.ToLower(short)
	}
	if folded == "lc" {
		return 1<<1 | 1<<2 | 1<<3, true
	}
	var m Mask
	for c, n := range categoryNames {
		n = strings.ToLower(n)
		if n == folded || len(folded) == 1 && n[:1] == folded {
			m |= 1 << c
		}
	}
	return m, m != 0
}

// Script returns the code points of a script by its name, such as "Han" or "old_persian".
func Script(name string) (*Table, bool) {
	t, ok := load().scripts[loose(name)]
	return t, ok
}

// Scripts lists the names that Script knows, folded and sorted.
func Scripts() []string {
	var names []string
	for n := range load().scripts {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
