package ucd

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Whatever Go's tables know must be in ours with the same category: Unicode does not change the category of letters.
func TestCategoriesContainGo(t *testing.T) {
	for name, table := range map[string]*unicode.RangeTable{"L": unicode.L, "N": unicode.N, "M": unicode.M, "Zs": unicode.Zs} {
		mask, ok := CategoryMask(name)
		require.True(t, ok)
		missing := 0
		for r := rune(0); r <= 0x10FFFF; r++ {
			if unicode.Is(table, r) && !mask.Has(r) {
				missing++
			}
		}
		require.Zero(t, missing, "code points of %s that Go has and the table lacks", name)
	}
}

func TestNewerThanGo(t *testing.T) {
	letter, _ := CategoryMask("Letter")
	require.True(t, letter.Has(0x2EBF0), "CJK extension I, Unicode 15.1")
	require.True(t, letter.Has(0xA7CB), "Latin, Unicode 16")
	require.False(t, letter.Has(0x0378), "unassigned")
	han, ok := Script("han")
	require.True(t, ok)
	require.True(t, han.Contains('漢'))
	require.True(t, han.Contains(0x2EBF0))
	require.False(t, han.Contains('あ'))
}

func TestCategoryMaskNames(t *testing.T) {
	for _, names := range [][]string{{"L", "letter", "LETTER"}, {"Lu", "uppercase_letter", "Uppercase Letter"}, {"Nd", "decimalnumber"}} {
		want, ok := CategoryMask(names[0])
		require.True(t, ok)
		for _, n := range names[1:] {
			got, ok := CategoryMask(n)
			require.True(t, ok, n)
			require.Equal(t, want, got, n)
		}
	}
	_, ok := CategoryMask("Xy")
	require.False(t, ok)
}

func TestLower(t *testing.T) {
	for r, want := range map[rune]string{'A': "a", 'Σ': "σ", 0x130: "i̇", 0x1C89: "\u1C8A", 'ß': "ß", 0x2160: "ⅰ"} {
		require.Equal(t, want, string(AppendLower(nil, r)), "%U", r)
	}
}

func TestSpaceAgreesWithGo(t *testing.T) {
	for r := rune(0); r < 0x3100; r++ {
		require.Equal(t, unicode.Is(unicode.White_Space, r), Space(r), "%U", r)
	}
}
