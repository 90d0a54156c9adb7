"""Writes a case's checkpoint: random tensors, quantised by mlx-lm, in the layout of a Hugging Face folder.

Values come from numpy's PCG64 keyed by seed and tensor name, so they depend neither on MLX's generator nor on the
order in which tensors are made.
"""

import contextlib
import copy
import importlib.util
import io
import json
import math
import shutil
import zlib

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.utils import _get_classes, quantize_model

import layouts
import store
from tables import ROOT

# mlx-lm 0.32.2 passes global_scale=None, which this MLX's gather_qmm does not know: dropping it changes nothing.
_gather_qmm = mx.gather_qmm
if "global_scale" not in (_gather_qmm.__doc__ or ""):
    mx.gather_qmm = lambda *args, global_scale=None, **kwargs: _gather_qmm(*args, **kwargs)

SEED = 20260101


def generator(*key):
    """A generator of its own for each key (strings and integers)."""
    return np.random.Generator(np.random.PCG64([SEED, *(zlib.crc32(str(k).encode()) for k in key)]))


def normal(shape, *key, dtype=mx.bfloat16, scale=1.0):
    values = generator(*key).standard_normal(shape).astype(np.float32) * np.float32(scale)
    return mx.array(values).astype(dtype)


def tensor(name, shape):
    """float32 values for one parameter: scaled by its role, so that the residual stream keeps the size of a trained
    model's and the logits are spread."""
    g = generator(name)
    n = g.standard_normal(shape).astype(np.float32)
    if name.endswith("A_log"):
        return np.log(g.uniform(1.0, 16.0, shape)).astype(np.float32)
    if name.endswith("dt_bias"):  # the inverse softplus of a step size
        dt = np.exp(g.uniform(math.log(1e-3), math.log(1e-1), shape))
        return (dt + np.log(-np.expm1(-dt))).astype(np.float32)
    if name.endswith("e_score_correction_bias"):
        return 0.05 * n
    if name.endswith(".bias"):
        return 0.1 * n
    if len(shape) == 1:  # what is left with one axis is a norm's gain
        return 1.0 + 0.1 * n
    if "embed_tokens" in name or "lm_head" in name:
        return 0.35 * n
    return 1.4 * n / np.float32(math.sqrt(shape[-1]))


def page(case):
    """(Model, ModelArgs) of a Python page of the repository."""
    spec = importlib.util.spec_from_file_location("page", ROOT / case.page)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model, module.ModelArgs


def build(case):
    """mlx-lm's model for the case, its parameters filled and cast."""
    cls, args = page(case) if case.page else _get_classes(copy.deepcopy(case.config))
    model = cls(args.from_dict(copy.deepcopy(case.config)))
    model.eval()
    cast = getattr(model, "cast_predicate", lambda _: True)  # what mlx_lm.convert leaves in float32
    weights = []
    for name, like in tree_flatten(model.parameters()):
        dtype = case.norms if case.norms and "norm" in name else case.dtype if cast(name) else "float32"
        weights.append((name, mx.array(tensor(name, like.shape)).astype(getattr(mx, dtype))))
    model.load_weights(weights, strict=True)
    return model


def quantise(case, model):
    """(model, config) as mlx_lm.convert would leave them, with the case's overrides."""
    q = case.quantisation
    config = copy.deepcopy(case.config)

    own = getattr(model, "quant_predicate", None)  # what mlx_lm.convert asks of a model that has one

    def predicate(path, module):
        if path in q.overrides:
            return q.overrides[path]
        if q.only:
            return q.only in path
        return own(path, module) if own else True

    with contextlib.redirect_stdout(io.StringIO()):  # it prints the bits per weight
        model, config = quantize_model(model, config, q.group, q.bits, q.mode, quant_predicate=predicate)
    if q.mode != "affine":  # quantize_model takes no dict without a mode for such a model
        assert not q.overrides
    table = config["quantization"]
    for path, params in q.overrides.items():
        if not q.recorded:
            table.pop(path, None)
        elif params is False:
            table[path] = False
    config["quantization_config"] = copy.deepcopy(table)
    return model, config


def write(case, folder):
    model = build(case)
    config = copy.deepcopy(case.config)
    if case.quantisation:
        model, config = quantise(case, model)
    else:
        config["torch_dtype"] = case.dtype
    weights, config, fp8 = layouts.apply(case.steps, tree_flatten(model.parameters()), config)
    if case.page:
        shutil.copy(ROOT / case.page, folder / "page.py")
        config["model_file"] = "page.py"
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    if case.shards == 1:
        store.save(folder / "model.safetensors", weights, fp8)
        return
    names = sorted(weights)
    where = {}
    for i in range(case.shards):
        file = f"model-{i + 1:05d}-of-{case.shards:05d}.safetensors"
        part = names[i::case.shards]
        store.save(folder / file, {k: weights[k] for k in part})
        where |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": sum(w.nbytes for w in weights.values())}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")
