"""What mlx-lm computes for a checkpoint: whole logits, residual stream, caches, generation. README.md lists the keys."""

import functools

import mlx.core as mx
import numpy as np
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import RotatingKVCache, make_prompt_cache
from mlx_lm.sample_utils import make_logits_processors, make_sampler

from checkpoint import generator

DECODE_STEPS = 8
CHUNK = 5
BATCH = 19  # tokens of each sequence: past the tables' windows of 16
LENGTHS = {"p7": 7, "p33": 33, "p245": 245, "p250": 250, "p300": 300}
SAMPLING = dict(temp=0.8, top_p=0.95, min_p=0.02, top_k=40)
PENALTIES = dict(repetition_penalty=1.3, repetition_context_size=20)
SAMPLING_SEED = 7


def ids(vocab, n, *key):
    """n token ids, past the special ones."""
    return generator("prompt", *key).integers(3, vocab, n).astype(np.int32)


def argmax_chain(model, cache, logits, steps):
    """Feeds the argmax of the last row, `steps` times; (fed [steps], logits [steps, V])."""
    fed, rows = [], []
    for _ in range(steps):
        y = mx.argmax(logits[:, -1], axis=-1)
        logits = model(y[:, None], cache=cache)
        mx.eval(logits)
        fed.append(y)
        rows.append(logits[:, -1])
    return mx.stack(fed, axis=1).astype(mx.int32), mx.stack(rows, axis=1)


class Trace:
    """Records the output of every decoder layer, and the final norm's, while it is entered."""

    def __init__(self, model):
        self.model, self.layers, self.final = model, [], None
        self.classes = {type(layer) for layer in model.layers}

    def __enter__(self):
        self.saved = {cls: cls.__call__ for cls in self.classes}
        for cls, call in self.saved.items():

            @functools.wraps(call)
            def traced(layer, *args, _call=call, **kwargs):
                out = _call(layer, *args, **kwargs)
                self.layers.append(out)
                return out

            cls.__call__ = traced
        return self

    def __exit__(self, *_):
        for cls, call in self.saved.items():
            cls.__call__ = call


def cache_arrays(cache):
    """Keys and values as they are stored now, one example of each kind of cache."""
    out, seen = {}, set()
    for i, c in enumerate(cache):
        if type(c) not in seen:
            seen.add(type(c))
            out[f"cache.{i}.keys"], out[f"cache.{i}.values"] = c.keys_and_values()
    return out


def forward(model, prompt, trace):
    """One forward over the prompt, 8 decode steps, then a chunk of 5 tokens, all on one cache."""
    out, cache = {"prompt": prompt}, make_prompt_cache(model)
    if trace:
        with Trace(model) as t:
            logits = model(prompt[None], cache=cache)
            mx.eval(logits)
        out["embed"] = model.model.embed_tokens(prompt)
        for i, h in enumerate(t.layers):
            out[f"layer.{i}"] = h[0]
        out["final_norm"] = model.model.norm(t.layers[-1])[0]
        out |= {k: mx.array(v) for k, v in cache_arrays(cache).items()}
        mx.eval(out)  # before a decode step writes into the cache's buffers
    else:
        logits = model(prompt[None], cache=cache)
        mx.eval(logits)
    out["prefill_logits"] = logits[0]
    fed, rows = argmax_chain(model, cache, logits, DECODE_STEPS)
    out["decode_in"], out["decode_logits"] = fed[0], rows[0]
    if any(isinstance(c, RotatingKVCache) for c in cache):
        out |= {f"after.{k}": mx.array(v) for k, v in cache_arrays(cache).items()}
    chunk = mx.array(ids(logits.shape[-1], CHUNK, "chunk"))
    out["chunk_in"], out["chunk_logits"] = chunk, model(chunk[None], cache=cache)[0]
    mx.eval(out)
    return out


def batch(model, vocab):
    """Two sequences of one length at once, and decode steps of both, on the caches that a single sequence has. (mlx-lm's
    batch_generate pads prompts of several lengths on the left and has caches of its own for that: not compared.)"""
    prompt = mx.array(ids(vocab, 2 * BATCH, "batch").reshape(2, BATCH))
    cache = make_prompt_cache(model)
    logits = model(prompt, cache=cache)
    fed, rows = argmax_chain(model, cache, logits, DECODE_STEPS)
    return {"prompt": prompt, "logits": logits, "decode_in": fed, "decode_logits": rows}


def generate(model, prompt, steps=DECODE_STEPS, **options):
    """generate_step's (tokens [steps], log-probabilities [steps, V])."""
    pairs = list(generate_step(prompt, model, max_tokens=steps, **options))
    return mx.array([t for t, _ in pairs], dtype=mx.int32), mx.stack([p for _, p in pairs])


def prefixed(prefix, arrays):
    return {f"{prefix}.{k}": v for k, v in arrays.items()}


def expected(case, model):
    vocab, out = case.config.get("text_config", case.config)["vocab_size"], {}
    for name in case.prompts:
        prompt = mx.array(ids(vocab, LENGTHS[name], name))
        got = forward(model, prompt, trace=case.traced and name == "p7")
        got["gen_tokens"], got["gen_logprobs"] = generate(model, prompt)
        if name != "p7":
            got["gen16_tokens"], got["gen16_logprobs"] = generate(model, prompt, prefill_step_size=16)
        out |= prefixed(name, got)
    out |= prefixed("batch", batch(model, vocab))
    if case.sampled:
        prompt = mx.array(ids(vocab, LENGTHS["p33"], "p33"))
        mx.random.seed(SAMPLING_SEED)
        tokens, logprobs = generate(model, prompt, steps=24, sampler=make_sampler(**SAMPLING),
                                    logits_processors=make_logits_processors(**PENALTIES))
        out["sampled.tokens"], out["sampled.logprobs"] = tokens, logprobs
    mx.eval(out)
    return out


def same_bits(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(mx.array_equal(a.view(mx.uint8), b.view(mx.uint8)))


def without_compile(case, model, reference):
    """The keys whose bits change when mx.compile is off."""
    mx.disable_compile()
    try:
        other = expected(case, model)
    finally:
        mx.enable_compile()
    return sorted(k for k in reference if not same_bits(reference[k], other[k]))
