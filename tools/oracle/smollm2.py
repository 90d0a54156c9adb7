"""SmolLM2-135M-Instruct: the converted GGUF, a chat prompt, and what mlx-lm computes for it.

The real model is here to show what random weights cannot: 30 layers deep, sensible logits, text that can be read.
"""

import mlx.core as mx
from jinja2 import Environment
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

import convert_gguf
import expect
import store

QUESTION = "What is the capital of France?"
DECODE_STEPS = 16
CHUNK = 5
GREEDY_TOKENS = 32



def tokenizer(meta):
    """Byte-level BPE from GGUF metadata. Its pre-tokenizer `smollm` splits digits one by one, then as GPT-2 does."""
    assert meta["tokenizer.ggml.model"] == "gpt2" and meta["tokenizer.ggml.pre"] == "smollm"
    tokens = meta["tokenizer.ggml.tokens"]
    merges = [tuple(m.split(" ")) for m in meta["tokenizer.ggml.merges"]]
    tok = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tok.decoder = decoders.ByteLevel()
    control = [t for t, kind in zip(tokens, meta["tokenizer.ggml.token_type"].tolist()) if kind == 3]
    tok.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in control])
    return tok


def write_tokenizer(tok, meta, folder):
    """tokenizer.json and tokenizer_config.json, so that mlx-lm opens the folder as any other."""
    tok.save(str(folder / "tokenizer.json"))
    token = lambda key: meta["tokenizer.ggml.tokens"][meta[f"tokenizer.ggml.{key}_token_id"].item()]
    store.write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "chat_template": meta["tokenizer.chat_template"],
        "bos_token": token("bos"), "eos_token": token("eos"), "clean_up_tokenization_spaces": False})


def chat(meta, question):
    template = Environment().from_string(meta["tokenizer.chat_template"])
    return template.render(messages=[{"role": "user", "content": question}], add_generation_prompt=True)


def chat_case(model, prompt):
    cache = make_prompt_cache(model)
    logits = model(prompt[None], cache=cache)
    mx.eval(logits)
    fed, rows = expect.argmax_chain(model, cache, logits, DECODE_STEPS)
    chunk = prompt[:CHUNK]
    out = {"prompt": prompt, "prefill_logits": logits[0], "decode_in": fed[0], "decode_logits": rows[0],
           "chunk_in": chunk, "chunk_logits": model(chunk[None], cache=cache)[0]}
    out["gen_tokens"], out["gen_logprobs"] = expect.generate(model, prompt, steps=GREEDY_TOKENS)
    mx.eval(out)
    return out


def make(out, gguf):
    with store.folder(out / "smollm2") as tmp:
        meta = convert_gguf.convert(gguf, tmp)
        tok = tokenizer(meta)
        write_tokenizer(tok, meta, tmp)
        text = chat(meta, QUESTION)
        prompt = mx.array(tok.encode(text).ids, dtype=mx.int32)
        model, _ = load_model(tmp)
        arrays = expect.prefixed("chat", chat_case(model, prompt))
        store.save(tmp / "expected.safetensors", arrays)
        store.write_json(tmp / "text.json", {
            "chat": text, "answer": tok.decode(arrays["chat.gen_tokens"].tolist())})
    return {
        "kind": "checkpoint",
        "shows": "a real checkpoint: Q4_1 GGUF, 8-bit embedding and tied head, float32 norms",
        "logits_dtype": str(arrays["chat.prefill_logits"].dtype).rsplit(".", 1)[-1],
        "f32_products": True,  # attention's: the norms' float32 gains promote the stream
        "source": gguf.name,
    }
