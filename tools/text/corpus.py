"""The texts that tokenizers are compared on: many scripts, marks, spaces, controls, code, special tokens, rare code points."""

import pathlib
import random

def texts():
    """The list: texts.txt, a line each with \\n, \\t, \\r, \\uXXXX and \\UXXXXXXXX for what a line cannot hold, and mixtures."""
    out = ["", " ", "\n", "  \n  ", "\n \n", "\t \n"]
    for line in (pathlib.Path(__file__).parent / "texts.txt").read_text(encoding="utf-8").split("\n"):
        if line:
            out.append(_unescape(line))
    out += _composed()
    return list(dict.fromkeys(out))


def _unescape(line):
    parts, i = [], 0
    while i < len(line):
        for mark, width in (("\\u", 4), ("\\U", 8)):
            digits = line[i + 2 : i + 2 + width]
            if line[i : i + 2] == mark and len(digits) == width and all(c in "0123456789abcdef" for c in digits):
                parts.append(chr(int(digits, 16)))
                i += 2 + width
                break
        else:
            plain = {"\\n": "\n", "\\t": "\t", "\\r": "\r"}.get(line[i : i + 2])
            parts.append(plain or line[i])
            i += 2 if plain else 1
    return "".join(parts)


ATOMS = (
    ["a", "B", "é", "e\u0301", "ß", "ſ", "K", "漢", "字", "か", "가", "अ", "ि", "ا", "ש", "ж", "σ", "𠮷", "\U0002ebf0", "\ua7cb"]
    + ["0", "7", "12", "345", "٣", "½", "ⅷ", "²"]
    + [" ", " ", "  ", "    ", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u3000", "\u2003", "\x85", "\u200b", "\u200d", "\ufeff"]
    + ["'s", "'LL", "'re", "'", '"', ".", ",", "!", "-", "_", "/", "#", "<", ">", "▁", "Ġ", "…", "，", "€", "+"]
    + ["😀", "👩‍👩‍👧", "🇩🇪", "❤️", "\x00", "\x1b", "\ufffd", "\ue000"]
    + ["the", " the", "ing", " and", "Hello", "hello", "<|im_end|>", "<s>", "</s>", "[X]", " [X] ", "<0x41>", "token"]
)


def _composed():
    rng = random.Random(20240607)
    return ["".join(rng.choice(ATOMS) for _ in range(rng.randint(2, 24))) for _ in range(110)]


if __name__ == "__main__":
    print(len(texts()), "texts,", sum(map(len, texts())), "characters")
