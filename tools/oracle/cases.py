"""The model cases: one small random checkpoint each, with what it is there to show.

A case is a config as a checkpoint's config.json would hold it, a storage dtype and, where it is quantised, the
quantisation. Sizes are the smallest that keep every path alive: rows are multiples of the largest group, grouped-query
attention has more than one head per key/value head, and head_dim differs from hidden / heads where that is the point.
"""

import dataclasses
import fnmatch
from typing import Any


@dataclasses.dataclass(frozen=True)
class Quantisation:
    """How `mlx_lm.utils.quantize_model` is called, and what differs per module.

    overrides maps a module path to its parameters, or to False for a module that stays dense. recorded=False leaves
    the overrides out of config.json: mlx-lm then recovers them from the tensors' shapes.
    """

    bits: int = 4
    group: int = 64
    mode: str = "affine"
    overrides: dict[str, Any] = dataclasses.field(default_factory=dict)
    recorded: bool = True
    only: str = ""  # what a module's path must hold to be quantised


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    shows: str
    config: dict[str, Any]
    dtype: str = "bfloat16"
    quantisation: Quantisation | None = None
    norm_dtype: str | None = None  # dtype of the norms' gains where it differs from dtype
    prompts: tuple[str, ...] = ("p7", "p33")
    shards: int = 1
    sampled: bool = False  # also record sampled generation
    traced: bool = True  # record each layer's output too, of models that are built like llama

    @property
    def f32_products(self) -> bool:
        """Whether a dense float32 matrix product runs, whose bits follow the BLAS in use (attention's included)."""
        return self.dtype == "float32" or self.norm_dtype == "float32"


# ------------------------------------------------------------------------------------------------------- configs

LLAMA = dict(
    architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=128, num_hidden_layers=4,
    intermediate_size=192, num_attention_heads=4, num_key_value_heads=2, head_dim=64, rms_norm_eps=1e-5,
    vocab_size=512, rope_theta=100000.0, max_position_embeddings=2048, tie_word_embeddings=True,
    hidden_act="silu", bos_token_id=1, eos_token_id=2,
)
SMALL = LLAMA | dict(
    hidden_size=64, num_hidden_layers=2, intermediate_size=128, head_dim=32, vocab_size=256,
)
# Wide enough for groups of 128 in every row, the down projection's included.
WIDE = LLAMA | dict(num_hidden_layers=2, intermediate_size=256, vocab_size=256)
QWEN2 = dict(
    architectures=["Qwen2ForCausalLM"], model_type="qwen2", hidden_size=64, num_hidden_layers=2,
    intermediate_size=128, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6, vocab_size=256,
    rope_theta=1000000.0, max_position_embeddings=2048, tie_word_embeddings=True, use_sliding_window=False,
    sliding_window=2048, max_window_layers=2, hidden_act="silu", bos_token_id=1, eos_token_id=2,
)
QWEN3 = dict(
    architectures=["Qwen3ForCausalLM"], model_type="qwen3", hidden_size=128, num_hidden_layers=4,
    intermediate_size=192, num_attention_heads=4, num_key_value_heads=2, head_dim=64, rms_norm_eps=1e-6,
    vocab_size=512, rope_theta=1000000.0, max_position_embeddings=4096, tie_word_embeddings=False,
    attention_bias=False, use_sliding_window=False, sliding_window=None, hidden_act="silu", bos_token_id=1,
    eos_token_id=2,
)
SMALL3 = QWEN3 | dict(hidden_size=64, num_hidden_layers=2, intermediate_size=128, vocab_size=256, head_dim=32)

LLAMA3_SCALING = dict(
    rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64,
)
YARN_SCALING = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64)


def without(config, *keys):
    return {k: v for k, v in config.items() if k not in keys}


# --------------------------------------------------------------------------------------------------------- cases

# Past the cache's step of 256: p245 meets it in the chunk, p250 while decoding, p300 in the prefill.
LONG = ("p7", "p245", "p250", "p300")

ARCHITECTURES = [
    Case("llama-bf16", "grouped-query attention, tied head, head_dim other than hidden/heads", LLAMA, sampled=True),
    Case("llama-q4", "the same, 4-bit affine, group 64; embedding and tied head quantised", LLAMA,
         quantisation=Quantisation(), sampled=True),
    Case("qwen2-bf16", "bias on q, k and v only", QWEN2),
    Case("qwen2-q4", "the same, 4-bit", QWEN2, quantisation=Quantisation()),
    Case("qwen3-bf16", "q and k norms, untied head", QWEN3),
    Case("qwen3-q4", "the same, 4-bit; head quantised", QWEN3, quantisation=Quantisation(), sampled=True),
    Case("qwen2-untied-q4", "untied quantised head", QWEN2 | dict(tie_word_embeddings=False),
         quantisation=Quantisation()),
    Case("qwen2-yarn-bf16", "yarn scaling under the older key `type`", QWEN2 | dict(
        rope_scaling=dict(type="yarn", factor=4.0, original_max_position_embeddings=64))),
    Case("qwen3-tied-bf16", "tied head, no lm_head tensor", SMALL3 | dict(tie_word_embeddings=True)),
    Case("qwen3-ropeparams-bf16", "rope_theta nested in rope_parameters", without(SMALL3, "rope_theta") | dict(
        rope_parameters=dict(rope_theta=1000000.0, rope_type="default"))),
    Case("qwen3-ropeparams-yarn-bf16", "yarn nested in rope_parameters", without(SMALL3, "rope_theta") | dict(
        rope_parameters=dict(rope_theta=1000000.0) | YARN_SCALING)),
]

LLAMAS = [
    Case("llama-long-bf16", "prompts that end on every side of the cache's step of 256", SMALL, prompts=LONG),
    Case("llama-long-q4", "the same, 4-bit", SMALL, quantisation=Quantisation(), prompts=LONG),
    Case("llama-long-sliding-bf16", "window of 16 over a long prompt, chunked and whole", SMALL | dict(
        sliding_window=16, layer_types=["sliding_attention", "full_attention"]), prompts=LONG),
    Case("llama-f16", "float16 throughout", SMALL, dtype="float16"),
    Case("llama-f32", "float32 throughout: products through BLAS", SMALL, dtype="float32"),
    Case("llama-f16-q4", "float16 scales", SMALL, dtype="float16", quantisation=Quantisation()),
    Case("llama-gguf-like-q4", "float16 scales in groups of 32 under float32 norms, 8-bit embedding, traditional rope, "
         "as a llama GGUF opens", SMALL | dict(rope_traditional=True), dtype="float16", norm_dtype="float32",
         quantisation=Quantisation(group=32, overrides={"model.embed_tokens": dict(group_size=32, bits=8)})),
    Case("llama-bf16-f32norm", "float32 gains over bfloat16 weights promote the stream", SMALL, norm_dtype="float32"),
    Case("llama-defaults-bf16", "only the keys that mlx-lm requires: no GQA, head_dim and theta by default", dict(
        model_type="llama", hidden_size=64, num_hidden_layers=2, intermediate_size=128, num_attention_heads=4,
        rms_norm_eps=1e-5, vocab_size=256)),
    Case("llama-untied-bf16", "separate lm_head", SMALL | dict(tie_word_embeddings=False)),
    Case("llama-untied-q4", "separate quantised lm_head, quantised embedding", SMALL | dict(tie_word_embeddings=False),
         quantisation=Quantisation()),
    Case("llama-bias-llama3-bf16", "bias on every projection, untied, llama3 scaling", SMALL | dict(
        tie_word_embeddings=False, attention_bias=True, mlp_bias=True, rope_theta=500000.0,
        max_position_embeddings=131072, rope_scaling=LLAMA3_SCALING), prompts=("p7", "p33", "p300")),
    Case("llama-bias-q4", "additive bias beside quantised weights", SMALL | dict(attention_bias=True, mlp_bias=True),
         quantisation=Quantisation()),
    Case("llama-linear-bf16", "linear scaling", SMALL | dict(rope_scaling=dict(type="linear", factor=4.0))),
    Case("llama-yarn-bf16", "yarn scaling, mscale other than 1", SMALL | dict(rope_scaling=YARN_SCALING)),
    Case("llama-yarn-all-bf16", "yarn with every key given and mscale 1", SMALL | dict(rope_scaling=YARN_SCALING | dict(
        beta_fast=16, beta_slow=2, mscale=1.0, mscale_all_dim=1.0))),
    Case("llama-longrope-bf16", "longrope: long_factor always, query and key scaled", SMALL | dict(
        max_position_embeddings=4096, rope_scaling=dict(
            type="longrope", original_max_position_embeddings=64, short_factor=[1.0] * 16,
            long_factor=[1.0 + 0.125 * i for i in range(16)]))),
    Case("llama-dynamic-bf16", "dynamic NTK scaling, prompt and decode past max_position_embeddings", SMALL | dict(
        max_position_embeddings=16, rope_scaling=dict(type="dynamic", factor=2.0))),
    Case("llama-traditional-bf16", "rotary pairs (2i, 2i+1)", SMALL | dict(rope_traditional=True)),
    Case("llama-sliding-bf16", "sliding and full layers, window 16: masks and rotating caches that wrap", LLAMA | dict(
        sliding_window=16, layer_types=["sliding_attention", "full_attention"] * 2)),
    Case("llama-sliding-first-q4", "first layer full, the rest sliding, 4-bit", LLAMA | dict(
        sliding_window=16, layer_types=["full_attention"] + ["sliding_attention"] * 3), quantisation=Quantisation()),
    Case("llama-shards-bf16", "model.safetensors.index.json and three shards", SMALL, shards=3),
]


def grid():
    """Every bit width with every group size, affine; then the three float modes. One layer: there are many."""
    wide = WIDE | dict(num_hidden_layers=1)
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            yield Case(f"llama-q{bits}-g{group}", f"{bits}-bit affine, group {group}, embedding and head included", wide,
                       quantisation=Quantisation(bits, group))
    for mode, bits, group in (("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)):
        yield Case(f"llama-{mode}", f"mode {mode}, embedding and tied head included", wide,
                   quantisation=Quantisation(bits, group, mode))


MIXED = {
    "model.embed_tokens": dict(group_size=128, bits=6),
    "model.layers.0.self_attn.v_proj": dict(group_size=32, bits=8),
    "model.layers.0.self_attn.o_proj": False,
    "model.layers.0.mlp.down_proj": dict(group_size=64, bits=3),
    "model.layers.1.mlp.gate_proj": dict(group_size=32, bits=5),
    "model.layers.1.mlp.up_proj": dict(group_size=32, bits=4, mode="mxfp4"),
    "lm_head": dict(group_size=64, bits=8),
}

MIXTURES = [
    Case("llama-mixed", "bits, group and mode per module, one module dense", WIDE | dict(tie_word_embeddings=False),
         quantisation=Quantisation(overrides=MIXED)),
    Case("llama-inferred", "per-module bits and group that config.json does not tell: recovered from shapes", WIDE,
         quantisation=Quantisation(recorded=False, overrides={
             "model.embed_tokens": dict(group_size=64, bits=8),
             "model.layers.0.self_attn.v_proj": dict(group_size=32, bits=6)})),
    Case("llama-dense-embedding-q4", "projections quantised, embedding and tied head dense", WIDE,
         quantisation=Quantisation(overrides={"model.embed_tokens": False})),
    Case("llama-dense-head-q4", "everything quantised but an untied head", WIDE | dict(tie_word_embeddings=False),
         quantisation=Quantisation(overrides={"lm_head": False})),
]

CASES = {c.name: c for c in [*ARCHITECTURES, *LLAMAS, *grid(), *MIXTURES]}


def select(names, patterns):
    """The names that match one of the shell patterns (all of them when there are none), in order."""
    if not patterns:
        return list(names)
    for p in patterns:
        if not fnmatch.filter(names, p):
            raise SystemExit(f"oracle: no case matches {p!r}; there are: {' '.join(names)}")
    return [n for n in names if any(fnmatch.fnmatchcase(n, p) for p in patterns)]
