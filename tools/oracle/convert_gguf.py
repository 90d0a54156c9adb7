#!/usr/bin/env python3
"""Converts a llama-family GGUF into a folder that mlx-lm opens, without changing one number.

usage: convert_gguf.py FILE.gguf DIR

MLX reads Q4_0, Q4_1 and Q8_0 into its affine layout (groups of 32, float16 scales and zero points) and leaves F16, BF16
and F32 as they are; here tensors get Hugging Face's names and the metadata becomes config.json. Rows of q and k stay
as the GGUF stores them, permuted for rotary pairs (2i, 2i+1): the config says `rope_traditional: true` instead of
un-permuting. There is no tokenizer in the folder.
"""

import argparse
import json
import pathlib
import re

import mlx.core as mx

import store

NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
GROUP = 32  # of every block format that MLX reads


def hf_name(name):
    """blk.3.attn_q.scales -> model.layers.3.self_attn.q_proj.scales; None for tensors mlx-lm computes itself."""
    m = re.fullmatch(r"(?:blk\.(\d+)\.)?([a-z_]+)\.(weight|scales|biases|bias)", name)
    if m is None or m[2] not in NAMES:
        if name.startswith("rope_freqs"):
            return None
        raise ValueError(f"tensor {name}: no known name in a llama GGUF")
    layer = f"model.layers.{m[1]}." if m[1] is not None else ""
    return f"{layer}{NAMES[m[2]]}.{m[3]}"


def metadata_value(value):
    if not isinstance(value, mx.array):
        return value
    return value.item() if value.size == 1 else value.tolist()


def llama_config(meta, weights):
    arch = meta["general.architecture"]
    if arch != "llama":
        raise ValueError(f"general.architecture is {arch!r}: only llama is converted")
    get = lambda key, default=None: metadata_value(meta.get(f"llama.{key}", default))
    heads, hidden = get("attention.head_count"), get("embedding_length")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": get("block_count"),
        "intermediate_size": get("feed_forward_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": get("attention.head_count_kv", heads),
        "head_dim": get("rope.dimension_count", hidden // heads),
        "rms_norm_eps": get("attention.layer_norm_rms_epsilon"),
        "vocab_size": weights["model.embed_tokens.weight"].shape[0],
        "rope_theta": get("rope.freq_base", 10000.0),
        "rope_traditional": True,
        "max_position_embeddings": get("context_length"),
        "tie_word_embeddings": "lm_head.weight" not in weights,
        "bos_token_id": metadata_value(meta.get("tokenizer.ggml.bos_token_id")),
        "eos_token_id": metadata_value(meta.get("tokenizer.ggml.eos_token_id")),
    }


def quantisation(weights):
    """mlx-lm's table: the commonest bit width for all, an entry for each module that differs. None if all are dense."""
    bits = {
        k.removesuffix(".scales"): weights[k.removesuffix("scales") + "weight"].shape[-1] * 32 // (s.shape[-1] * GROUP)
        for k, s in sorted(weights.items()) if k.endswith(".scales")
    }
    if not bits:
        return None
    values = sorted(bits.values())
    common = max(values, key=values.count)
    table = {"group_size": GROUP, "bits": common, "mode": "affine"}
    return table | {k: {"group_size": GROUP, "bits": b} for k, b in bits.items() if b != common}


def read(path):
    """(config, weights, metadata) of a GGUF file."""
    tensors, meta = mx.load(str(path), format="gguf", return_metadata=True)
    weights = {hf: t for name, t in tensors.items() if (hf := hf_name(name)) is not None}
    config = llama_config(meta, weights)
    if (table := quantisation(weights)) is not None:
        config["quantization"] = config["quantization_config"] = table
    return config, weights, meta


def convert(path, folder):
    """Writes config.json and model.safetensors into the folder; returns the metadata."""
    config, weights, meta = read(path)
    folder.mkdir(parents=True, exist_ok=True)
    store.write_json(folder / "config.json", config)
    store.save(folder / "model.safetensors", weights)
    return meta


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    mx.set_default_device(mx.cpu)
    convert(args.gguf, args.folder)
