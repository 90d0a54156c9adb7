"""LoRA adapters: random ones for small llama checkpoints, and what mlx-lm computes with them.

A folder holds a checkpoint, adapters in folders of their own, and expected.safetensors:

  prompt [T]
  NAME.logits [T, V]; NAME.decode_in [N], NAME.decode_logits [N, V]   the prompt in one forward, then N argmax steps
  fused.TENSOR                                                        what mlx_lm.fuse saves for the adapter `all`

NAME is `base`, an adapter, or several joined by +, whose sums are added in that order: mlx-lm itself mounts one, the next is
mx.nn's LoRALinear around it. `peft` is `all` as PEFT would have saved it, `rslora` has PEFT's other scale.
"""

import mlx.core as mx
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.tuner.lora import LoRALinear
from mlx_lm.utils import load_model
from mlx_lm.tuner.utils import load_adapters

import checkpoint
import expect
import store
from tables import CASES

BASES = {f"{n}-adapters": n for n in ("llama-bf16", "llama-q4")}
STEPS, PROMPT = 4, 33
ATTENTION = [f"self_attn.{n}_proj" for n in "qkvo"]
MLP = [f"mlp.{n}_proj" for n in ("gate", "up", "down")]
# modules of a layer, rank, scale, dtype of the factors
ADAPTERS = {
    "all": (ATTENTION + MLP, 8, 2.0, mx.float32),
    "down": (["mlp.down_proj"], 4, 1.5, mx.float32),
    "gate": (["mlp.gate_proj"], 4, 3.0, mx.bfloat16),
}
RUNS = ["base", *ADAPTERS, "rslora", "all+down", "down+all"]


def factors(model, name):
    """lora_a [in, r] and lora_b [r, out] by module."""
    modules, rank, _, dtype = ADAPTERS[name]
    out = {}
    for path, m in model.named_modules():
        if ".".join(path.split(".")[3:]) not in modules:
            continue
        rows, columns = m.weight.shape
        if "scales" in m:
            columns = columns * 32 // m.bits
        out[f"{path}.lora_a"] = checkpoint.normal((columns, rank), name, path, "a", dtype=dtype, scale=columns ** -0.5)
        out[f"{path}.lora_b"] = checkpoint.normal((rank, rows), name, path, "b", dtype=dtype, scale=0.2)
    return out


def write(model, name, folder):
    modules, rank, scale, _ = ADAPTERS[name]
    arrays = factors(model, name)
    mlx = folder / "adapters" / name
    mlx.mkdir(parents=True)
    store.write_json(mlx / "adapter_config.json", {"fine_tune_type": "lora", "num_layers": len(model.layers), "lora_parameters": {
        "rank": rank, "scale": scale, "dropout": 0.0, "keys": modules}})
    store.save(mlx / "adapters.safetensors", arrays)
    if name != "all":
        return
    half = lambda k: "base_model.model." + k.replace("lora_a", "lora_A.weight").replace("lora_b", "lora_B.weight")
    turned = {half(k): mx.contiguous(v.T) for k, v in arrays.items()}
    for peft, more in (("peft", {"lora_alpha": scale * rank}), ("rslora", {"lora_alpha": 3.0, "use_rslora": True})):
        (folder / "adapters" / peft).mkdir()
        store.write_json(folder / "adapters" / peft / "adapter_config.json", {
            "peft_type": "LORA", "r": rank, "bias": "none", "target_modules": [m.split(".")[1] for m in modules], **more})
        store.save(folder / "adapters" / peft / "adapter_model.safetensors", turned)


def around(model, name, arrays):
    """Puts an adapter around what is there."""
    modules, out = dict(model.named_modules()), []
    for key, a in arrays.items():
        path, half = key.rsplit(".", 1)
        if half == "lora_a":
            b = arrays[f"{path}.lora_b"]
            layer = LoRALinear(a.shape[0], b.shape[1], a.shape[1], scale=ADAPTERS[name][2])
            layer.linear, layer.lora_a, layer.lora_b = modules[path], a, b
            out.append((path, layer))
    model.update_modules(tree_unflatten(out))


def run(model, prompt):
    cache = make_prompt_cache(model)
    logits = model(prompt[None], cache=cache)
    fed, rows = expect.argmax_chain(model, cache, logits, STEPS)
    return {"logits": logits[0], "decode_in": fed[0], "decode_logits": rows[0]}


def adapted(folder, names):
    """The model with adapters, the first as mlx-lm mounts it; it is not yet evaluated, as a user's would not be."""
    model, _ = load_model(folder)
    if names[0] == "base":
        return model
    first = "all" if names[0] == "rslora" else names[0]
    later = [(n, factors(model, n)) for n in names[1:]]
    model = load_adapters(model, str(folder / "adapters" / first))
    if names[0] == "rslora":
        for _, m in model.named_modules():
            if isinstance(m, LoRALinear):
                m.scale = 3.0 / ADAPTERS["all"][1] ** 0.5
    for n, arrays in later:
        around(model, n, arrays)
    model.eval()
    return model


def make(out, name):
    case = CASES[BASES[name]]
    with store.folder(out / name) as tmp:
        checkpoint.write(case, tmp)
        model, config = load_model(tmp)
        for n in ADAPTERS:
            write(model, n, tmp)
        prompt = mx.array(expect.ids(config["vocab_size"], PROMPT, "adapters"))
        arrays = {"prompt": prompt}
        for n in RUNS:
            arrays |= expect.prefixed(n, run(adapted(tmp, n.split("+")), prompt))
        model = adapted(tmp, ["all"])
        fused = [(n, m.fuse()) for n, m in model.named_modules() if hasattr(m, "fuse")]
        model.update_modules(tree_unflatten(fused))
        arrays |= expect.prefixed("fused", dict(tree_flatten(model.parameters())))
        mx.eval(arrays)
        store.save(tmp / "expected.safetensors", arrays)
    return {"kind": "adapters", "shows": "LoRA adapters of mlx-lm and PEFT, one and two at once, fused", "adapters": [*ADAPTERS, "peft", "rslora"]}
