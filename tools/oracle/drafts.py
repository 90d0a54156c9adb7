"""Native drafts (multi-token prediction), which mlx-lm drops: their expected values are plain MLX calls written here from
what the models' authors published (the Qwen3.5 and GLM-5 draft layers as vLLM's qwen3_5_mtp and deepseek_mtp have them).

A folder holds a checkpoint whose text half mlx-lm opens and whose draft tensors it drops, and expected.safetensors:

  prompt [T]                    what the text entry is given
  text.h [T, H]                 mlx-lm's residual stream before the final norm, text.logits [T, V]
  tokens [T], logits [T, V], h  the draft over the prompt moved by one (its last token is the text's argmax), fed text.h
  step.tokens [N], step.logits [N, V], step.h [N, H]   then N tokens one by one, each fed the draft's own h
"""

import copy
import json

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import _get_classes, load_model
from mlx.utils import tree_flatten

import expect
import store
from checkpoint import tensor

STEPS = 4
PROMPT = 9

QWEN3_5 = dict(model_type="qwen3_5", tie_word_embeddings=True, text_config=dict(
    model_type="qwen3_5_text", hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, head_dim=32, rms_norm_eps=1e-6, vocab_size=256, max_position_embeddings=4096,
    linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=32, linear_value_head_dim=32,
    linear_conv_kernel_dim=4, tie_word_embeddings=True, attention_bias=False, full_attention_interval=2,
    mtp_num_hidden_layers=1, rope_parameters=dict(
        rope_type="default", rope_theta=10000000.0, partial_rotary_factor=0.25, mrope_section=[2, 1, 1])))
QWEN3_5_MOE = copy.deepcopy(QWEN3_5) | dict(model_type="qwen3_5_moe")
QWEN3_5_MOE["text_config"] |= dict(
    model_type="qwen3_5_moe_text", num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32,
    shared_expert_intermediate_size=64, norm_topk_prob=True)
GLM = dict(
    model_type="glm_moe_dsa", vocab_size=256, hidden_size=64, index_head_dim=32, index_n_heads=4, index_topk=16,
    intermediate_size=128, moe_intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
    n_shared_experts=1, n_routed_experts=8, routed_scaling_factor=2.5, kv_lora_rank=64, q_lora_rank=64, qk_rope_head_dim=16,
    v_head_dim=32, qk_nope_head_dim=32, topk_method="noaux_tc", scoring_func="sigmoid", norm_topk_prob=True, n_group=1,
    topk_group=1, num_experts_per_tok=2, moe_layer_freq=1, first_k_dense_replace=1, max_position_embeddings=2048,
    rms_norm_eps=1e-5, attention_bias=False, num_nextn_predict_layers=1,
    rope_parameters=dict(rope_theta=1000000.0, rope_type="default"), indexer_rope_interleave=True)


def linear(x, w):
    return x @ w.T


def heads(x, n):
    return x.reshape(*x.shape[:2], n, -1).swapaxes(1, 2)


def merged(x):
    x = x.swapaxes(1, 2)
    return x.reshape(*x.shape[:2], -1)


class Rows:
    """What attention has kept so far: one array for each name, joined along the sequence."""

    def __init__(self):
        self.kept = {}

    @property
    def offset(self):
        return next(iter(self.kept.values())).shape[2] if self.kept else 0

    def add(self, **new):
        self.kept = {k: mx.concatenate([self.kept[k], v], axis=2) if k in self.kept else v for k, v in new.items()}
        return self.kept


class Qwen3_5:
    """e and u normalised, fc of both (embedding first), one layer with gated full attention, the final norm. What comes out
    is the input of the head and the hidden state of the next draft token. All gains are stored less one."""

    config, dtype = QWEN3_5, "bfloat16"

    def __init__(self, weights):
        self.c, self.w = self.config["text_config"], weights
        self.rows = Rows()

    @staticmethod
    def tensors(config):
        c = config["text_config"]
        h, d, n, k, i = c["hidden_size"], c["head_dim"], c["num_attention_heads"], c["num_key_value_heads"], c["intermediate_size"]
        layer = "mtp.layers.0."
        return {
            "mtp.fc.weight": (h, 2 * h), "mtp.pre_fc_norm_embedding.weight": (h,), "mtp.pre_fc_norm_hidden.weight": (h,),
            "mtp.norm.weight": (h,), layer + "input_layernorm.weight": (h,), layer + "post_attention_layernorm.weight": (h,),
            layer + "self_attn.q_proj.weight": (2 * n * d, h), layer + "self_attn.k_proj.weight": (k * d, h),
            layer + "self_attn.v_proj.weight": (k * d, h), layer + "self_attn.o_proj.weight": (h, n * d),
            layer + "self_attn.q_norm.weight": (d,), layer + "self_attn.k_norm.weight": (d,),
            layer + "mlp.gate_proj.weight": (i, h), layer + "mlp.up_proj.weight": (i, h), layer + "mlp.down_proj.weight": (h, i)}

    @staticmethod
    def stored(name, value):
        return value - 1.0 if len(value.shape) == 1 else value

    def norm(self, x, name):
        return mx.fast.rms_norm(x, self.w[name] + 1.0, self.c["rms_norm_eps"])

    def __call__(self, tokens, hidden):
        w, c = self.w, self.c
        embedding = w["language_model.model.embed_tokens.weight"]
        e = self.norm(embedding[tokens], "mtp.pre_fc_norm_embedding.weight")
        x = linear(mx.concatenate([e, self.norm(hidden, "mtp.pre_fc_norm_hidden.weight")], axis=-1), w["mtp.fc.weight"])
        layer = "mtp.layers.0."
        x = x + self.attention(self.norm(x, layer + "input_layernorm.weight"), layer + "self_attn.")
        y = self.norm(x, layer + "post_attention_layernorm.weight")
        h = self.norm(x + self.mlp(y, layer + "mlp."), "mtp.norm.weight")
        return linear(h, embedding), h

    def mlp(self, x, at):
        w = self.w
        gate = linear(x, w[at + "gate_proj.weight"])
        return linear(gate * mx.sigmoid(gate) * linear(x, w[at + "up_proj.weight"]), w[at + "down_proj.weight"])

    def attention(self, x, at):
        w, c = self.w, self.c
        n, k, d = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        rope = c["rope_parameters"]
        dims, base = int(d * rope["partial_rotary_factor"]), rope["rope_theta"]
        both = linear(x, w[at + "q_proj.weight"]).reshape(*x.shape[:2], n, 2 * d)
        q, gate = mx.split(both, 2, axis=-1)
        key = linear(x, w[at + "k_proj.weight"]).reshape(*x.shape[:2], k, d)
        offset = self.rows.offset
        turn = lambda a: mx.fast.rope(a.swapaxes(1, 2), dims, traditional=False, base=base, scale=1.0, offset=offset)
        q, key = turn(self.norm(q, at + "q_norm.weight")), turn(self.norm(key, at + "k_norm.weight"))
        kept = self.rows.add(k=key, v=heads(linear(x, w[at + "v_proj.weight"]), k))
        mask = "causal" if x.shape[1] > 1 else None
        o = mx.fast.scaled_dot_product_attention(q, kept["k"], kept["v"], scale=d**-0.5, mask=mask)
        return linear(merged(o) * mx.sigmoid(gate.reshape(*x.shape[:2], -1)), w[at + "o_proj.weight"])


class Qwen3_5Moe(Qwen3_5):
    """The same with experts, stored as Hugging Face has them: gate and up of all in one tensor; and a shared one with a gate."""

    config, dtype = QWEN3_5_MOE, "float32"

    @staticmethod
    def tensors(config):
        c, at = config["text_config"], "mtp.layers.0.mlp."
        h, n, i, shared = c["hidden_size"], c["num_experts"], c["moe_intermediate_size"], c["shared_expert_intermediate_size"]
        dense = {k: s for k, s in Qwen3_5.tensors(config).items() if not k.startswith(at)}
        return dense | {
            at + "gate.weight": (n, h), at + "experts.gate_up_proj": (n, 2 * i, h), at + "experts.down_proj": (n, h, i),
            at + "shared_expert.gate_proj.weight": (shared, h), at + "shared_expert.up_proj.weight": (shared, h),
            at + "shared_expert.down_proj.weight": (h, shared), at + "shared_expert_gate.weight": (1, h)}

    def mlp(self, x, at):
        w, c = self.w, self.c
        top = c["num_experts_per_tok"]
        scores = mx.softmax(linear(x, w[at + "gate.weight"]), axis=-1, precise=True)
        which = mx.argpartition(scores, kth=-top, axis=-1)[..., -top:]
        scores = mx.take_along_axis(scores, which, axis=-1)
        scores = scores / scores.sum(axis=-1, keepdims=True)
        many = lambda x, m: mx.gather_mm(x, m.swapaxes(-1, -2), rhs_indices=which)
        wide = mx.expand_dims(x, (-2, -3))
        gate, up = (mx.contiguous(half) for half in mx.split(w[at + "experts.gate_up_proj"], 2, axis=-2))
        up, gate = many(wide, up), many(wide, gate)
        y = many(gate * mx.sigmoid(gate) * up, w[at + "experts.down_proj"]).squeeze(-2)
        y = (y * scores[..., None]).sum(axis=-2)
        return y + mx.sigmoid(linear(x, w[at + "shared_expert_gate.weight"])) * super().mlp(x, at + "shared_expert.")


class Glm:
    """The layer after the last: e and u normalised, eh_proj of both (embedding first), a decoder layer with latent attention
    over the whole context (no indexer) and experts. Its output is the hidden state of the next draft token; a norm of its
    own stands before the text's head."""

    config, dtype = GLM, "float32"

    def __init__(self, weights):
        self.c, self.w, self.rows = self.config, weights, Rows()
        self.at = f"model.layers.{self.c['num_hidden_layers']}."

    @staticmethod
    def tensors(c):
        at, h, n = f"model.layers.{c['num_hidden_layers']}.", c["hidden_size"], c["num_attention_heads"]
        nope, rope, value, rank, q_rank = (c[k] for k in (
            "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "kv_lora_rank", "q_lora_rank"))
        i = c["moe_intermediate_size"]
        shapes = {
            "enorm.weight": (h,), "hnorm.weight": (h,), "eh_proj.weight": (h, 2 * h), "shared_head.norm.weight": (h,),
            "input_layernorm.weight": (h,), "post_attention_layernorm.weight": (h,), "self_attn.q_a_proj.weight": (q_rank, h),
            "self_attn.q_a_layernorm.weight": (q_rank,), "self_attn.q_b_proj.weight": (n * (nope + rope), q_rank),
            "self_attn.kv_a_proj_with_mqa.weight": (rank + rope, h), "self_attn.kv_a_layernorm.weight": (rank,),
            "self_attn.kv_b_proj.weight": (n * (nope + value), rank), "self_attn.o_proj.weight": (h, n * value),
            "mlp.gate.weight": (c["n_routed_experts"], h), "mlp.gate.e_score_correction_bias": (c["n_routed_experts"],),
            "embed_tokens.weight": (c["vocab_size"], h), "shared_head.head.weight": (c["vocab_size"], h)}
        for part in [f"experts.{e}" for e in range(c["n_routed_experts"])] + ["shared_experts"]:
            shapes |= {f"mlp.{part}.gate_proj.weight": (i, h), f"mlp.{part}.up_proj.weight": (i, h), f"mlp.{part}.down_proj.weight": (h, i)}
        return {at + k: s for k, s in shapes.items()}

    @staticmethod
    def stored(name, value):
        return value

    def norm(self, x, name, eps=None):
        return mx.fast.rms_norm(x, self.w[self.at + name], eps or self.c["rms_norm_eps"])

    def __call__(self, tokens, hidden):
        w, at = self.w, self.at
        e = self.norm(w["model.embed_tokens.weight"][tokens], "enorm.weight")
        x = linear(mx.concatenate([e, self.norm(hidden, "hnorm.weight")], axis=-1), w[at + "eh_proj.weight"])
        x = x + self.attention(self.norm(x, "input_layernorm.weight"))
        h = x + self.experts(self.norm(x, "post_attention_layernorm.weight"))
        return linear(self.norm(h, "shared_head.norm.weight"), w["lm_head.weight"]), h

    def attention(self, x):
        c, at = self.c, self.at + "self_attn."
        part = lambda name, x: linear(x, self.w[at + name + ".weight"])
        n, nope, rope, rank = c["num_attention_heads"], c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["kv_lora_rank"]
        scale = (nope + rope) ** -0.5
        q = heads(part("q_b_proj", self.norm(part("q_a_proj", x), "self_attn.q_a_layernorm.weight", 1e-6)), n)
        q, q_pe = mx.split(q, [nope], axis=-1)
        latent, k_pe = mx.split(part("kv_a_proj_with_mqa", x), [rank], axis=-1)
        offset, base = self.rows.offset, c["rope_parameters"]["rope_theta"]
        turn = lambda a: mx.fast.rope(a, rope, traditional=True, base=base, scale=1.0, offset=offset)
        latent = self.norm(latent, "self_attn.kv_a_layernorm.weight", 1e-6)[:, None]
        kept = self.rows.add(latent=latent, k_pe=turn(k_pe[:, None]))
        pe = (turn(q_pe) * scale) @ kept["k_pe"].swapaxes(-1, -2)
        if x.shape[1] > 1:
            total = kept["latent"].shape[2]
            seen = mx.arange(total - x.shape[1], total)[:, None] >= mx.arange(total)[None]
            pe = mx.where(seen, pe, mx.array(mx.finfo(pe.dtype).min, pe.dtype))
        both = self.w[at + "kv_b_proj.weight"].reshape(n, -1, rank)
        wk, wv = mx.contiguous(both[:, :nope].swapaxes(-1, -2)), mx.contiguous(both[:, nope:])  # [n, rank, nope], [n, value, rank]
        if x.shape[1] == 1:  # the query goes into latent space, the latent is key and value
            q, k, v = q @ wk.swapaxes(-1, -2), kept["latent"], kept["latent"]
        else:
            k, v = kept["latent"] @ wk, kept["latent"] @ wv.swapaxes(-1, -2)
        o = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=pe)
        return part("o_proj", merged(o @ wv.swapaxes(-1, -2) if x.shape[1] == 1 else o))

    def experts(self, x):
        c, at = self.c, self.at + "mlp."
        top = c["num_experts_per_tok"]
        s = mx.sigmoid(linear(x, self.w[at + "gate.weight"]).astype(mx.float32))
        which = mx.argpartition(-(s + self.w[at + "gate.e_score_correction_bias"]), kth=top - 1, axis=-1)[..., :top]
        weight = mx.take_along_axis(s, which, axis=-1)
        weight = weight / weight.sum(axis=-1, keepdims=True) * c["routed_scaling_factor"]
        stacked = lambda name: mx.stack([self.w[f"{at}experts.{e}.{name}.weight"] for e in range(c["n_routed_experts"])])
        many = lambda x, name: mx.gather_mm(x, stacked(name).swapaxes(-1, -2), rhs_indices=which)
        wide = mx.expand_dims(x, (-2, -3))
        up, gate = many(wide, "up_proj"), many(wide, "gate_proj")
        y = many(gate * mx.sigmoid(gate) * up, "down_proj").squeeze(-2)
        y = (y * weight[..., None]).sum(axis=-2).astype(y.dtype)
        part = lambda name, x: linear(x, self.w[at + "shared_experts." + name + ".weight"])
        gate = part("gate_proj", x)
        return y + part("down_proj", gate * mx.sigmoid(gate) * part("up_proj", x))


DRAFTS = {"qwen3_5-draft-bf16": Qwen3_5, "qwen3_5_moe-draft-f32": Qwen3_5Moe, "glm_moe_dsa-draft-f32": Glm}


def write(kind, folder):
    """The checkpoint: mlx-lm's model filled, and the draft's tensors as they are stored."""
    config = copy.deepcopy(kind.config)
    cls, args = _get_classes(config)
    model = cls(args.from_dict(copy.deepcopy(config)))
    shapes = {name: like.shape for name, like in tree_flatten(model.parameters())}
    dtype = getattr(mx, kind.dtype)
    weights = {name: mx.array(tensor(name, shape)).astype(dtype) for name, shape in shapes.items()}
    for name, shape in kind.tensors(config).items():
        weights[name] = mx.array(kind.stored(name, tensor(name, shape))).astype(dtype)
    store.save(folder / "model.safetensors", weights)
    (folder / "config.json").write_text(json.dumps(config | {"torch_dtype": kind.dtype}, indent=2, sort_keys=True) + "\n")
    return weights


def text(model, prompt):
    """mlx-lm's logits, and the residual stream that its final norm is given."""
    with expect.Trace(model) as trace:
        logits = model(prompt[None], cache=make_prompt_cache(model))
        mx.eval(logits)
    last = trace.layers[-1]
    return logits, last[0] if isinstance(last, tuple) else last


def expected(kind, folder, weights):
    model, _ = load_model(folder)
    config = kind.config.get("text_config", kind.config)
    prompt = mx.array(expect.ids(config["vocab_size"], PROMPT, "draft"))
    logits, hidden = text(model, prompt)
    out = {"prompt": prompt, "text.h": hidden[0], "text.logits": logits[0]}
    draft = kind(weights)
    tokens = mx.concatenate([prompt[1:], mx.argmax(logits[0, -1:], axis=-1).astype(mx.int32)])
    logits, h = draft(tokens[None], hidden)
    out |= {"tokens": tokens, "logits": logits[0], "h": h[0]}
    fed, rows, states = [], [], []
    for _ in range(STEPS):
        token = mx.argmax(logits[:, -1], axis=-1).astype(mx.int32)
        logits, h = draft(token[None], h[:, -1:])
        mx.eval(logits, h)
        fed.append(token[0])
        rows.append(logits[0, 0])
        states.append(h[0, 0])
    return out | {"step.tokens": mx.stack(fed), "step.logits": mx.stack(rows), "step.h": mx.stack(states)}


def make(out, name):
    kind = DRAFTS[name]
    with store.folder(out / name) as tmp:
        weights = write(kind, tmp)
        arrays = expected(kind, tmp, weights)
        store.save(tmp / "expected.safetensors", arrays)
    return {"kind": "draft", "shows": "a native draft beside the text entry", "f32_products": kind.dtype == "float32"}
