"""Small tokenizers of every kind of byte-pair encoding, trained on the spot."""

import json
import pydoc_data.topics

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from corpus import texts

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
WORD = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
WORD2 = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT4O = WORD + CONTRACTION + "|" + WORD2 + CONTRACTION + r"|\p{N}{1,3}" + REST
TEKKEN = WORD + "|" + WORD2 + r"|\p{N}" + REST
DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
POSSESSIVE = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"


def corpus():
    topics = pydoc_data.topics.topics
    yield from texts()
    for name in sorted(topics)[:30]:
        yield from topics[name][:6000].split("\n\n")


def train(tok, size, special=(), **options):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), show_progress=False, **options)
    tok.train_from_iterator(corpus(), trainer)
    return tok


def regex_split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def byte_level(pre, size=900, special=("<|endoftext|>",), **model):
    tok = Tokenizer(models.BPE(**model))
    tok.pre_tokenizer = pre
    tok.decoder = decoders.ByteLevel()
    return train(tok, size, special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def raw_bytes(*steps):
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2():
    tok = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tok.post_processor = processors.ByteLevel(trim_offsets=True)
    tok.add_tokens([AddedToken("[X]", lstrip=True, rstrip=True), AddedToken("token", single_word=True), "  ", "   ", "    "])
    return tok


def gpt2_prefix():
    tok = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), special=("<s>", "</s>", "<unk>"))
    tok.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tok


def qwen2():
    tok = byte_level(raw_bytes(regex_split(QWEN2)), special=("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
    tok.normalizer = normalizers.NFC()
    tok.add_tokens([AddedToken(t, normalized=False) for t in ("<tool_call>", "</tool_call>", "<think>", "</think>")])
    return tok


def llama3():
    special = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
    tok = byte_level(raw_bytes(regex_split(LLAMA3)), special=special)
    file = json.loads(tok.to_str())
    model = file["model"]
    for word in ("ĠFrance", "pneumonoultramicroscopicsilicovolcanoconiosis", "Hello", "ðŁĺĢ", "123"):
        model["vocab"].setdefault(word, len(model["vocab"]))  # whole words that no merges lead to
    model["ignore_merges"] = True
    tok = Tokenizer.from_str(json.dumps(file))
    template = processors.TemplateProcessing("<|begin_of_text|> $A", "<|begin_of_text|> $A $B:1", [("<|begin_of_text|>", 0)])
    tok.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tok


def byte_tokens():
    return [f"<0x{b:02X}>" for b in range(256)]


def llama2():
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    train(tok, 1500, ["<unk>", "<s>", "</s>", *byte_tokens()], limit_alphabet=300)
    file = json.loads(tok.to_str())
    file["added_tokens"] = file["added_tokens"][:3]
    tok = Tokenizer.from_str(json.dumps(file))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok.pre_tokenizer = None
    tok.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)])
    tok.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tok


def gemma():
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Replace(" ", "▁")
    tok.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", *byte_tokens()]
    train(tok, 1500, special, limit_alphabet=300)
    file = json.loads(tok.to_str())
    file["added_tokens"] = file["added_tokens"][:6]
    tok = Tokenizer.from_str(json.dumps(file))
    tok.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tok.post_processor = processors.TemplateProcessing("<bos> $A", "<bos> $A <bos>:1 $B:1", [("<bos>", 2)])
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tok


def partial_bytes():
    """Byte fallback with only some of the byte tokens, and unknown tokens that are not fused."""
    tok = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    train(tok, 700, ["<unk>", *byte_tokens()[:0xD0]], limit_alphabet=120)
    file = json.loads(tok.to_str())
    file["added_tokens"] = file["added_tokens"][:1]
    tok = Tokenizer.from_str(json.dumps(file))
    tok.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    tok.add_special_tokens([AddedToken("[X]", rstrip=True), "<s>"])
    return tok


def metaspace_never():
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    train(tok, 700, ["<unk>"], limit_alphabet=150, max_token_length=12)
    tok.decoder = decoders.Metaspace(prepend_scheme="never")
    return tok


def word_ends():
    tok = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    tok.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()])
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    train(tok, 900, ["<unk>"], limit_alphabet=200, continuing_subword_prefix="##", end_of_word_suffix="</w>")
    tok.decoder = decoders.BPEDecoder(suffix="</w>")
    tok.add_tokens([AddedToken("Hello", normalized=True), AddedToken("TOKEN", normalized=True, single_word=True)])
    return tok


def bert_like():
    tok = Tokenizer(models.BPE(unk_token="[UNK]", fuse_unk=True))
    tok.normalizer = normalizers.BertNormalizer()
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    train(tok, 700, ["[UNK]", "[CLS]", "[SEP]", "[PAD]"], limit_alphabet=200)
    tok.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tok  # without a decoder: tokens are joined with spaces


def falcon():
    steps = [
        pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(individual_digits=False),
        regex_split("[0-9][0-9][0-9]"),
    ]
    return byte_level(pre_tokenizers.Sequence(steps))


def starcoder():
    return byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]))


def deepseek():
    return byte_level(raw_bytes(regex_split(r"\p{N}{1,3}"), regex_split("[一-龥\u3040-ゟ゠-ヿ]+"), regex_split(DEEPSEEK)))


def normal_bytes():
    """Byte stand-ins made by the normaliser, and added tokens that are looked for in their normalised form."""
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(), normalizers.ByteLevel()])
    tok.pre_tokenizer = regex_split(r"Ġ?[^ĠĊ]+|Ċ+|Ġ+")
    tok.decoder = decoders.ByteLevel()
    train(tok, 800, (), initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tok.add_tokens([AddedToken("Hello world", normalized=True), AddedToken("漢字", normalized=True)])
    tok.add_special_tokens([AddedToken("<s>", normalized=True)])
    return tok


def odd_splits():
    steps = [
        pre_tokenizers.CharDelimiterSplit("x"),
        pre_tokenizers.Split(" ", "merged_with_previous"),
        regex_split(r"\p{Lu}", "merged_with_next"),
        regex_split(r"\d+", "contiguous"),
        pre_tokenizers.Punctuation("merged_with_previous"),
        pre_tokenizers.FixedLength(7),
    ]
    tok = byte_level(raw_bytes(*steps))
    tok.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Nmt(), normalizers.Replace(Regex(r"(?<=a)e|\p{Sc}"), "E"), normalizers.Strip(True, False)]
    )
    return tok


def inverted():
    """Keep what matches and drop the rest."""
    return byte_level(raw_bytes(regex_split(r"\w+|[^\w\s]+", "removed", invert=True), pre_tokenizers.WhitespaceSplit()))


KINDS = {
    "gpt2": gpt2,
    "gpt2_prefix": gpt2_prefix,
    "qwen2": qwen2,
    "llama3": llama3,
    "llama2": llama2,
    "gemma": gemma,
    "gpt4o": lambda: byte_level(raw_bytes(regex_split(GPT4O))),
    "tekken": lambda: byte_level(raw_bytes(regex_split(TEKKEN)), ignore_merges=True),
    "possessive": lambda: byte_level(raw_bytes(regex_split(POSSESSIVE))),
    "deepseek": deepseek,
    "falcon": falcon,
    "starcoder": starcoder,
    "partial_bytes": partial_bytes,
    "metaspace_never": metaspace_never,
    "word_ends": word_ends,
    "bert_like": bert_like,
    "normal_bytes": normal_bytes,
    "odd_splits": odd_splits,
    "inverted": inverted,
}
