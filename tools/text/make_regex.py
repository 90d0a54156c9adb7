"""Write how Python's tokenizers splits texts at patterns, for the tests of package regex.

    .venv/bin/python tools/text/make_regex.py text/regex/testdata/cases.json.gz
"""

import pathlib
import random
import sys

from tokenizers import Regex, pre_tokenizers

from kinds import DEEPSEEK, GPT4O, LLAMA3, POSSESSIVE, QWEN2, TEKKEN
from make_expected import write

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PATTERNS = [
    GPT2, LLAMA3, QWEN2, GPT4O, TEKKEN, POSSESSIVE, DEEPSEEK,
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
    r"\d{1,3}(?=(?:\d{3})*\b)", r"(?=(\d{3})+(?!\d))", r"[\p{Han}]+|[\p{L}&&[^\p{Han}]]+|\p{N}{1,3}|\s+", r"\s+$", r"^\s+|\w+",
    r" ?[^(\s|.,!?…。，、।۔،)]+", r"(?<!\n)\s|\b\w", r"(?<=a|bb)b|\Z", r"(a|ab)(c|bcd)*?d?|x*", r"(a*)*b|[ab]{2,3}?",
    r"(?>a+|ab)c?|\w{2,}+", r"(?i)straße|éA|[k-s]+", r"\R|\N", r"(?m).\n.", r"$|^", r"\W+|\D|\S\H", r"(?i:[^a-f])+|(?<n>.)",
    r"(?x) a+ # letters" "\n" r"| \  ", r"\p{^L}+|\p{Lu}\P{Lu}*", r"[[:digit:]x-z]+|[\]\-a]+", r"\x{61}|\u0062|\x63|\t|\e|\071",
    r"a{,2}|b{2,}|c{3}|d{x}", r"(?i:\p{Lu}+)\d", r"\A.|.\z", r"(?:(?=a)a|(?!b)c)+", r"[^\S\n]+|\n", r"\O\O?",
]  # fmt: skip
PIECES = (
    list("abcdABé1 23\n\r\t'.,!sSßſKK漢字かな한ü")
    + ["'s", "'LL", "'Re", "\r\n", "  ", "   ", "\u0301", "e\u0301", "😀", "👩‍👩", "🇩🇪", "\u00a0", "\u2003", "ⅷ", "²", "٣", "अनु", "ि", "\u200d"]
    + ["\U0002ebf0", "\ua7cb", "\u1c89", "\x00", "\x85", "_", "-", "/", "1234567", "bb", "abcd", "straße"]
)
ATOMS = r"a b ab [ab] [^a] \p{L} \s \S \w \d . \n (?:a|b) (?:ab|a) \p{Lu} [\p{L}&&[^b]] é (?i:s) (?>ab?) [a-c1-3] [^\s\p{L}]".split()
PLACES = r"(?=a) (?!b) (?<=a) (?<!b) \b ^ $ \B".split()
QUANTIFIERS = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{0,3}?", "{2,}"]


def pattern(rng, depth=0):
    alternatives = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        parts = []
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.12:
                parts.append(rng.choice(PLACES))
            else:
                atom = f"(?:{rng.choice(ATOMS)}{pattern(rng, depth + 1)})" if depth < 1 and rng.random() < 0.15 else rng.choice(ATOMS)
                parts.append(atom + rng.choice(QUANTIFIERS))
        alternatives.append("".join(parts))
    return "|".join(alternatives)


def main(path):
    rng = random.Random(3)
    cases = []
    while len(cases) < 6000:
        p = rng.choice(PATTERNS) if rng.random() < 0.6 else pattern(rng)
        text = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 18)))
        try:
            parts = [s for s, _ in pre_tokenizers.Split(Regex(p), "isolated").pre_tokenize_str(text)]
            between = [s for s, _ in pre_tokenizers.Split(Regex(p), "removed").pre_tokenize_str(text)]
        except BaseException:  # a pattern that is not valid, or too many steps
            continue
        cases.append([p, text, parts, between])
    write(path, cases)


main(pathlib.Path(sys.argv[1]))
