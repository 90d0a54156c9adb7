"""mlx-lm's samplers and logits processors on random rows, step by step and drawn.

One file per storage dtype of the logits, `.oracle/sampling/<dtype>.safetensors`, with cases.json beside them:

  rows.<r>.logits [1,V]       a row as generate_step hands it over: last position, batch axis kept
  rows.<r>.logprobs [1,V]     logits - logsumexp(logits, keepdims=True)
  <case>.<r>.filtered [1,V]   after the case's filters, in make_sampler's order: top_p, min_p, xtc (not used), top_k
  <case>.<r>.tokens [S,N]     for each of the seeds: mx.random.seed(seed), then N draws in a row by make_sampler's sampler
  <case>.<r>.tokens           greedy (temp 0): [1]
  <processor>.<r>.logits [1,V]  logits after make_logits_processors on `history`

Rows: `wide` spread like a model's, `peaked` with one token near certainty, `ties` with many equal values (which of them a
filter keeps is part of the answer), `vocab` as wide as SmolLM2's vocabulary. mx.compile is off here: it would build a
kernel for every constant and shape. The models' `sampled.*` arrays have it on.
"""

import mlx.core as mx
import numpy as np
from mlx_lm import sample_utils as su

import store
from checkpoint import generator

DTYPES = ("bfloat16", "float16", "float32")
SEEDS = (0, 1, 7, 1234567890123)
DRAWS = 6

SAMPLERS = {
    "greedy": dict(temp=0.0),
    "temp0.7": dict(temp=0.7),
    "temp1": dict(temp=1.0),
    "temp1.5": dict(temp=1.5),
    "top_p0.3": dict(temp=1.0, top_p=0.3),
    "top_p0.9": dict(temp=1.0, top_p=0.9),
    "top_p0.999": dict(temp=1.0, top_p=0.999),
    "top_k1": dict(temp=1.0, top_k=1),
    "top_k5": dict(temp=0.9, top_k=5),
    "top_k40": dict(temp=0.9, top_k=40),
    "min_p0.05": dict(temp=1.0, min_p=0.05),
    "min_p0.5": dict(temp=1.0, min_p=0.5),
    "min_p0.9-keep3": dict(temp=1.0, min_p=0.9, min_tokens_to_keep=3),
    "top_p-top_k": dict(temp=0.8, top_p=0.9, top_k=20),
    "top_p-min_p": dict(temp=0.8, top_p=0.95, min_p=0.02),
    "all": dict(temp=0.6, top_p=0.95, min_p=0.01, top_k=10),
}
PROCESSORS = {
    "repetition1.3": dict(repetition_penalty=1.3),
    "repetition0.8": dict(repetition_penalty=0.8, repetition_context_size=20),
    "repetition1.2-context4": dict(repetition_penalty=1.2, repetition_context_size=4),
    "presence0.5": dict(presence_penalty=0.5),
    "frequency0.5": dict(frequency_penalty=0.5),
    "bias": dict(logit_bias={3: 5.0, 10: -2.5, 50: 0.125}),
    "bias-repetition-presence-frequency": dict(
        logit_bias={5: 1.0, 9: -1.0}, repetition_penalty=1.1, presence_penalty=0.25, frequency_penalty=0.125),
}
# Longer than any context, with repeats inside and outside of it.
HISTORY = [3, 17, 3, 60, 1, 5, 5, 9, 20, 1, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 5, 9, 5, 63, 0]


def rows(dtype):
    g = generator("sampling")
    wide = g.standard_normal((1, 256)) * 3
    peaked = g.standard_normal((1, 64)) * 0.5
    peaked[0, 41] = 14.0
    ties = np.round(g.standard_normal((1, 128)) * 2)
    vocab = g.standard_normal((1, 49152)) * 4
    named = {"wide": wide, "peaked": peaked, "ties": ties, "vocab": vocab}
    return {k: mx.array(v.astype(np.float32)).astype(dtype) for k, v in named.items()}


def filtered(x, top_p=0.0, min_p=0.0, min_tokens_to_keep=1, top_k=0, **_):
    """make_sampler's chain, which it keeps to itself, without the draw."""
    if 0 < top_p < 1.0:
        x = su.apply_top_p(x, top_p)
    if min_p != 0.0:
        x = su.apply_min_p(x, min_p, min_tokens_to_keep)
    if top_k > 0:
        x = su.apply_top_k(x, top_k)
    return x


def draws(sampler, logprobs):
    out = []
    for seed in SEEDS:
        mx.random.seed(seed)
        out.append([sampler(logprobs).item() for _ in range(DRAWS)])
    return mx.array(out, dtype=mx.int32)


def applies(options, vocab):
    return options.get("top_k", 0) < vocab


def arrays_of(dtype):
    out = {}
    for row, logits in rows(dtype).items():
        logprobs = logits - mx.logsumexp(logits, keepdims=True)
        out[f"rows.{row}.logits"], out[f"rows.{row}.logprobs"] = logits, logprobs
        for case, options in SAMPLERS.items():
            if not applies(options, logits.shape[-1]):
                continue
            sampler = su.make_sampler(**options)
            if options["temp"] == 0:
                out[f"{case}.{row}.tokens"] = sampler(logprobs).astype(mx.int32)
                continue
            if row != "vocab":  # the tokens drawn are enough there
                out[f"{case}.{row}.filtered"] = filtered(logprobs, **options)
            out[f"{case}.{row}.tokens"] = draws(sampler, logprobs)
        if row == "vocab":
            continue
        for case, options in PROCESSORS.items():
            x = mx.array(logits)
            for process in su.make_logits_processors(**options):
                x = process(mx.array(HISTORY, dtype=mx.int32), x)
            out[f"{case}.{row}.logits"] = x
        mx.eval(out)
    return out


def make(out):
    mx.disable_compile()
    try:
        with store.folder(out / "sampling") as tmp:
            for dtype in DTYPES:
                store.save(tmp / f"{dtype}.safetensors", arrays_of(getattr(mx, dtype)))
            store.write_json(tmp / "cases.json", {
                "samplers": SAMPLERS, "processors": PROCESSORS, "history": HISTORY, "seeds": SEEDS, "draws": DRAWS,
                "rows": {k: v.shape[-1] for k, v in rows(mx.float32).items()}, "dtypes": DTYPES})
    finally:
        mx.enable_compile()
    return {"kind": "sampling", "shows": "samplers, filters and logits processors; seeds", "dtypes": list(DTYPES)}
