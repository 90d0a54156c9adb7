"""Single operators, called as mlx-lm calls them: for finding which operator is off when a model's logits are.

.oracle/ops/ops.safetensors holds `<case>.in.<name>` and `<case>.out.<name>`; ops.json describes each case:

  {"operator": …, "args": {…}, "in": {name: "dtype[shape]"}, "out": {…}, "blas": bool, "note": …}

args are the keyword arguments of the operator. `blas` marks a dense float32 product, whose bits follow the BLAS in use.
mx.compile is off, as in sampling.py: an activation is the plain operators it is made of.
"""

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.activations import swiglu
from mlx_lm.models.base import create_causal_mask
from mlx_lm.models.cache import KVCache, RotatingKVCache
from mlx_lm.models.rope_utils import initialize_rope

import store
from checkpoint import normal

BF16, F16, F32 = mx.bfloat16, mx.float16, mx.float32
SHORT = {BF16: "bf16", F16: "f16", F32: "f32"}


class Book:
    """The cases so far."""

    def __init__(self):
        self.arrays, self.cases = {}, {}

    def add(self, case, operator, args, inputs, outputs, note=None, blas=False):
        assert case not in self.cases, case
        inputs = {k: v for k, v in inputs.items() if v is not None}
        if not isinstance(outputs, dict):
            outputs = {"y": outputs}
        mx.eval(inputs, outputs)
        for side, arrays in (("in", inputs), ("out", outputs)):
            self.arrays |= {f"{case}.{side}.{k}": mx.array(v) for k, v in arrays.items()}
        entry = {"operator": operator, "args": args, "in": store.describe(inputs), "out": store.describe(outputs)}
        if note:
            entry["note"] = note
        self.cases[case] = entry | ({"blas": True} if blas else {})


def norms(book):
    for dtype in (BF16, F16, F32):
        for gain in (dtype, F32, None):
            if gain is F32 and dtype is F32:
                continue
            x = normal((2, 5, 128), "norm.x", dtype=dtype, scale=3)
            w = None if gain is None else normal((128,), "norm.w", dtype=gain)
            name = f"rms_norm.{SHORT[dtype]}" + ("" if gain is dtype else f".{SHORT.get(gain, 'no')}_gain")
            book.add(name, "rms_norm", {"eps": 1e-5}, {"x": x, "w": w}, mx.fast.rms_norm(x, w, 1e-5))
    x, w, b = normal((5, 128), "norm.x"), normal((128,), "norm.w"), normal((128,), "norm.b")
    book.add("layer_norm.bf16", "layer_norm", {"eps": 1e-5}, {"x": x, "w": w, "b": b},
             mx.fast.layer_norm(x, w, b, 1e-5))


SCALINGS = {
    "default": None,
    "linear": dict(type="linear", factor=4.0),
    "llama3": dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   original_max_position_embeddings=64),
    "llama3_8192": dict(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0),
    "yarn": dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64),
    "yarn_all": dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=128, beta_fast=16, beta_slow=2,
                     mscale=1.0, mscale_all_dim=0.5),
    "yarn_equal_ends": dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=4),
    "longrope": dict(type="longrope", original_max_position_embeddings=64, short_factor=[1.0] * 32,
                     long_factor=[1.0 + 0.0625 * i for i in range(32)]),
    "dynamic": dict(type="dynamic", factor=2.0),
    "proportional": dict(type="proportional", partial_rotary_factor=0.25, factor=1.0),
}


def ropes(book):
    """Tables (`freqs`, where the variant makes one) and rotated rows, as `initialize_rope` of the config's scaling."""
    dims, length = 64, 6
    for kind, scaling in SCALINGS.items():
        base, longest = (500000.0 if kind.startswith("llama3") else 10000.0), 1024 if kind != "dynamic" else 32
        for traditional in (False, True) if kind != "longrope" else (False,):
            for dtype, offset in ((BF16, 0), (BF16, 61), (F16, 61), (F32, 61), (F32, 5000)):
                rope = initialize_rope(dims, base, traditional, scaling, longest)
                x = normal((1, 2, length, dims), "rope.x", dtype=dtype)
                out = {"y": rope(x, offset=offset)}
                if hasattr(rope, "_freqs"):
                    out["freqs"] = rope._freqs
                name = f"rope.{kind}.{'traditional' if traditional else 'halves'}.{SHORT[dtype]}.o{offset}"
                book.add(name, "rope", {"dims": dims, "base": base, "traditional": traditional, "scaling": scaling,
                                        "max_position_embeddings": longest, "offset": offset}, {"x": x}, out)
    x = normal((2, 2, 4, 64), "rope.partial")
    for traditional in (False, True):
        args = dict(traditional=traditional, base=10000.0, scale=1.0)
        name = "traditional" if traditional else "halves"
        book.add(f"rope.partial.{name}", "rope", {"dims": 16, "offset": 9, **args}, {"x": x},
                 mx.fast.rope(x, 16, offset=9, **args), note="only the first 16 of 64 dims turn")
        offsets = mx.array([3, 90], dtype=mx.int32)
        book.add(f"rope.offsets.{name}", "rope", {"dims": 64, **args}, {"x": x, "offset": offsets},
                 mx.fast.rope(x, 64, offset=offsets, **args), note="an offset for each sequence")


def attention(book):
    d, window = 32, 4
    scale = d**-0.5
    sdpa = mx.fast.scaled_dot_product_attention
    for dtype in (BF16, F16, F32):
        s, blas = SHORT[dtype], dtype is F32
        draw = lambda name, heads, n, b=1: normal((b, heads, n, d), "sdpa", name, dtype=dtype)
        k, v = draw("k", 2, 12), draw("v", 2, 12)
        many, one = draw("q", 4, 7), draw("q1", 4, 1)
        add = lambda name, q, mask, key=k, value=v, note=None, **more: book.add(
            f"sdpa.{name}.{s}", "sdpa", {"scale": scale, "mask": mask if isinstance(mask, str) else None},
            {"q": q, "k": key, "v": value, "mask": mask if isinstance(mask, mx.array) else None, **more},
            sdpa(q, key, value, scale=scale, mask=mask, **more), note=note, blas=blas)
        add("causal", many, "causal", note="7 queries at the end of 12 keys")
        add("decode", one, None)
        add("full", many, None)
        add("window", many, create_causal_mask(7, 5, window_size=window), note="create_causal_mask(7, 5, window_size=4)")
        add("additive", many, normal((1, 1, 7, 12), "sdpa.additive", dtype=dtype))
        add("sinks", many, "causal", sinks=normal((4,), "sdpa.sinks", dtype=dtype))
        add("heads_equal", many, "causal", draw("k4", 4, 12), draw("v4", 4, 12), note="no grouping")
        add("one_key_head", many, "causal", draw("k1", 1, 12), draw("v1", 1, 12))
        q, k2, v2 = draw("qb", 4, 3, 2), draw("kb", 2, 8, 2), draw("vb", 2, 8, 2)
        padding = create_causal_mask(3, 5, left_padding=mx.array([0, 4]))
        add("batch_padding", q, padding, k2, v2, note="left padding 0 and 4")


def masks(book):
    for n, offset, window in ((5, 0, None), (5, 3, None), (5, 0, 3), (6, 7, 4), (1, 9, 4)):
        book.add(f"mask.n{n}.o{offset}.w{window}", "causal_mask", {"n": n, "offset": offset, "window": window}, {},
                 create_causal_mask(n, offset, window_size=window))


def caches(book):
    """What a cache hands to attention at each update, given the token counts of the updates."""
    for name, make_cache, updates in (
        ("kv", KVCache, [7, 1, 1, 250, 1]),
        ("rotating16", lambda: RotatingKVCache(max_size=16), [6] + [1] * 14 + [5] + [1] * 3),
        ("rotating16.long_prompt", lambda: RotatingKVCache(max_size=16), [33, 1, 1, 4, 1]),
        ("rotating16.keep4", lambda: RotatingKVCache(max_size=16, keep=4), [10] + [1] * 12 + [6, 1]),
        ("rotating16.one_by_one", lambda: RotatingKVCache(max_size=16), [1] * 20),
    ):
        total = sum(updates)
        k, v = normal((1, 1, total, 4), "cache.k"), normal((1, 1, total, 4), "cache.v")
        cache, out, at = make_cache(), {}, 0
        for i, n in enumerate(updates):
            mask = cache.make_mask(n) if isinstance(cache, RotatingKVCache) else None
            if isinstance(mask, mx.array):
                out[f"mask.{i}"] = mask
            keys, values = cache.update_and_fetch(k[..., at:at + n, :], v[..., at:at + n, :])
            out[f"k.{i}"], out[f"v.{i}"] = mx.array(keys), mx.array(values)
            mx.eval(out)  # the next update writes into the same buffer
            at += n
        book.add(f"cache.{name}", "cache", {"updates": updates}, {"k": k, "v": v}, out,
                 note="out k.<i>, v.<i>: after update i; mask.<i>: make_mask before it, where it is an array")


def activations(book):
    for dtype in (BF16, F16, F32):
        gate, x = normal((5, 96), "act.gate", dtype=dtype, scale=4), normal((5, 96), "act.x", dtype=dtype)
        s = SHORT[dtype]
        book.add(f"swiglu.{s}", "swiglu", {}, {"gate": gate, "x": x}, swiglu(gate, x))
        book.add(f"silu.{s}", "silu", {}, {"x": gate}, nn.silu(gate))
        book.add(f"gelu.{s}", "gelu", {}, {"x": gate}, nn.gelu(gate))
        book.add(f"gelu_approx.{s}", "gelu_approx", {}, {"x": gate}, nn.gelu_approx(gate))
        book.add(f"softmax.{s}", "softmax", {"precise": False}, {"x": gate}, mx.softmax(gate, axis=-1))
        book.add(f"softmax.precise.{s}", "softmax", {"precise": True}, {"x": gate},
                 mx.softmax(gate, axis=-1, precise=True))
        book.add(f"logsumexp.{s}", "logsumexp", {}, {"x": gate[:1]}, mx.logsumexp(gate[:1], keepdims=True))
        ties = mx.array([[1.0, 3.0, 3.0, -2.0, 3.0]]).astype(dtype)
        book.add(f"argmax.ties.{s}", "argmax", {}, {"x": ties}, mx.argmax(ties, axis=-1), note="the first of equals")


def products(book):
    for dtype in (BF16, F16, F32):
        s, blas = SHORT[dtype], dtype is F32
        w, b = normal((96, 128), "linear.w", dtype=dtype, scale=0.1), normal((96,), "linear.b", dtype=dtype)
        for rows in (1, 5, 33):
            x = normal((1, rows, 128), "linear.x", dtype=dtype)
            book.add(f"linear.{s}.r{rows}", "linear", {}, {"x": x, "w": w}, x @ w.T, blas=blas)
            book.add(f"linear.bias.{s}.r{rows}", "linear", {}, {"x": x, "w": w, "b": b}, mx.addmm(b, x, w.T), blas=blas,
                     note="addmm: other bits than a product and a sum")
        ids = mx.array([[3, 0, 95, 3]], dtype=mx.int32)
        book.add(f"embedding.{s}", "embedding", {}, {"ids": ids, "w": w}, w[ids])


def quantised(book):
    modes = [("affine", bits, group) for bits in (2, 3, 4, 5, 6, 8) for group in (32, 64, 128)]
    modes += [("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)]
    for mode, bits, group in modes:
        dtypes = (BF16, F16, F32) if (bits, group) in ((4, 64), (8, 32)) and mode == "affine" else (BF16,)
        for dtype in dtypes:
            args = dict(group_size=group, bits=bits, mode=mode)
            dense = normal((64, 256), "quantised.w", dtype=dtype, scale=0.1)
            w, scales, *biases = mx.quantize(dense, **args)
            biases = biases[0] if biases else None
            stored = {"w": w, "scales": scales, "biases": biases}
            name = (f"affine.b{bits}.g{group}" if mode == "affine" else mode) + f".{SHORT[dtype]}"
            book.add(f"dequantize.{name}", "dequantize", args, stored,
                     mx.dequantize(w, scales, biases, **args) if mode == "affine" else
                     mx.dequantize(w, scales, biases, dtype=dtype, **args))
            for rows in (1, 6, 33):
                x = normal((1, rows, 256), "quantised.x", dtype=dtype)
                book.add(f"quantized_matmul.{name}.r{rows}", "quantized_matmul", args, {"x": x} | stored,
                         mx.quantized_matmul(x, w, scales, biases, transpose=True, **args))
    args = dict(group_size=32, bits=4, mode="affine")
    w, scales, biases = mx.quantize(normal((64, 256), "quantised.w", dtype=F16, scale=0.1), **args)
    x = normal((1, 6, 256), "quantised.x", dtype=F32)
    book.add("quantized_matmul.f32_over_f16", "quantized_matmul", args,
             {"x": x, "w": w, "scales": scales, "biases": biases},
             mx.quantized_matmul(x, w, scales, biases, transpose=True, **args),
             note="float32 rows over float16 scales, as under a GGUF's float32 norms")


def make(out):
    book = Book()
    mx.disable_compile()
    try:
        for family in (norms, ropes, attention, masks, caches, activations, products, quantised):
            family(book)
    finally:
        mx.enable_compile()
    with store.folder(out / "ops") as tmp:
        store.save(tmp / "ops.safetensors", book.arrays)
        store.write_json(tmp / "ops.json", book.cases)
    return {"kind": "operators", "shows": f"{len(book.cases)} single-operator cases"}
