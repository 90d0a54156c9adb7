"""Write text/ucd/tables.txt: the character classes as Python's `tokenizers` has them.

Its regular expressions (Oniguruma), its normaliser and Rust's char methods each carry a Unicode version of their own,
all different from Go's. Token ids must be equal, so the classes are read out of the package itself, by asking it about
every code point. Run it again when requirements.txt names a new version:

    python tools/text/make_unicode.py text/ucd/tables.txt
"""

import sys

from tokenizers import Regex, normalizers, pre_tokenizers

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co".split()
SCRIPTS = """Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki
Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian
Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs
Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema Han
Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi
Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki
Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic
Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi
Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham
Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian
Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang
Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar
Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan
Tifinagh Tirhuta Todhri Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square""".split()

EVERY = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def matched(pre_tokenizer, points):
    """The code points that the pre-tokenizer removes: it must remove exactly those of its class."""
    kept = bytearray(len(points))
    for _, (a, b) in pre_tokenizer.pre_tokenize_str("".join(map(chr, points))):
        kept[a:b] = b"\1" * (b - a)
    return [p for p, k in zip(points, kept) if not k]


def regex(pattern, points):
    return matched(pre_tokenizers.Split(Regex(pattern), "removed"), points)


def ranges(points):
    out = []
    for p in points:
        if out and out[-1][1] == p - 1:
            out[-1][1] = p
        else:
            out.append([p, p])
    return " ".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in out)


def rust_word():
    """Rust's own \\w, of single_word added tokens and the Whitespace pre-tokenizer: "a" and the character stay together."""
    pre = pre_tokenizers.Whitespace()
    text = "".join(f"a{chr(c)} " for c in EVERY)
    return [EVERY[a // 3] for _, (a, b) in pre.pre_tokenize_str(text) if b - a == 2]


def rust_numeric():
    text = "".join(f"x{chr(c)}" for c in EVERY)
    pieces = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(text)
    return [EVERY[a // 2] for _, (a, b) in pieces if b - a == 1 and a % 2 == 1]


def active(assigned):
    """Code points that take part in normalisation: they decompose, reorder (a combining class) or compose with the
    character before them. A newer Unicode has more of them, and those must be left alone to get the same ids."""
    nfd, nfkd = normalizers.NFD(), normalizers.NFKD()
    out = set()
    for c in EVERY:
        s = chr(c)
        if nfkd.normalize_str(s) != s:
            out.add(c)
            out.add(ord(nfd.normalize_str(s)[-1]))
    for c in assigned:
        # A mark with a combining class moves behind a following overlay (class 1) or before an iota below (240).
        s = chr(c)
        if nfd.normalize_str(f"a{s}\u0334") != f"a{s}\u0334" or nfd.normalize_str(f"a\u0345{s}") != f"a\u0345{s}":
            out.add(c)
    return sorted(out)


def main(path):
    lines = ["# Written by tools/text/make_unicode.py from Python's tokenizers: do not edit. Hexadecimal ranges."]
    assigned = []
    for category in CATEGORIES:
        points = regex(f"\\p{{{category}}}", EVERY)
        lines.append(f"gc {category} {ranges(points)}")
        if category != "Co":
            assigned += points
    assigned.sort()
    for script in SCRIPTS:
        try:
            points = regex("\\p{" + script + "}", assigned)
            lines.append(f"sc {script} {ranges(points)}")
        except Exception:
            print("no script", script, file=sys.stderr)
    word = regex(r"\w", EVERY)
    lines.append(f"set word {ranges(word)}")
    lines.append(f"set rust_word {ranges(rust_word())}")
    lines.append(f"set rust_numeric {ranges(rust_numeric())}")
    lines.append(f"set rust_punctuation {ranges(matched(pre_tokenizers.Punctuation('removed'), EVERY))}")
    strip = normalizers.StripAccents()
    lines.append(f"set rust_mark {ranges([c for c in EVERY if strip.normalize_str(chr(c)) == ''])}")
    bert = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    lines.append(f"set rust_nonspacing {ranges([c for c in EVERY if bert.normalize_str(chr(c)) == ''])}")
    clean = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    lines.append(f"set rust_other {ranges([c for c in EVERY if clean.normalize_str(chr(c)) == ''])}")
    lower = normalizers.Lowercase()
    for c in EVERY:
        low = lower.normalize_str(chr(c))
        if low != chr(c) and (len(low) > 1 or chr(c).lower() != low):
            lines.append(f"lower {c:X} {' '.join(f'{ord(x):X}' for x in low)}")
    lines.append(f"set active {ranges(active(assigned))}")
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


main(sys.argv[1])
