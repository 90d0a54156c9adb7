"""Other layouts of a checkpoint than mlx-lm's own: its tensors renamed, cut and joined as publishers store them.

A layout is a list of steps, each of which undoes a part of what mlx-lm's `sanitize` does. mlx-lm then opens the result,
strictly, so a step that is wrong shows. A step has one verb, whose value is a regular expression over tensor names:

  rename R, to                       the match becomes `to` (\\1 stands for a group)
  unstack R, to                      entry e of the first axis becomes `to` with {e}
  join R, parts, axis, to            the first group is the part; they become one along the axis (interleave: a, b, a, b …)
  transpose R, axes                  |  flatten R  |  add R, value
  bytes R, to, row                   uint32 words as bytes, in rows of that many
  latent R, to                       embed_q and unembed_out become kv_b_proj, quantised again if they were
  fp8 R, block                       float8 with a float32 scale for each block x block (`_scale_inv`)
  packed R                           4-bit codes and scales under compressed-tensors' names
  extra NAME, shape                  a tensor that nothing uses
  quantization {…}                   config.json's table becomes this `quantization_config`
"""

import re

import mlx.core as mx


def apply(steps, weights, config):
    """(weights, config, names of those that hold float8) in the layout."""
    weights, config, fp8 = dict(weights), dict(config), set()
    for step in steps:
        verb, pattern = next(iter(step.items()))
        if verb == "extra":
            weights[pattern] = mx.zeros(step["shape"], mx.bfloat16)
            continue
        if verb == "quantization":
            config.pop("quantization", None)
            config["quantization_config"] = pattern
            continue
        found = {n: m for n in list(weights) if (m := re.search(pattern, n))}
        if not found:
            raise SystemExit(f"oracle: {verb} {pattern!r}: no tensor; there are: {' '.join(sorted(weights))}")
        fp8 |= VERBS[verb](weights, found, step, config) or set()
    return weights, config, fp8


def _to(name, match, step):
    return name[:match.start()] + match.expand(step["to"]) + name[match.end():]


def _rename(weights, found, step, config):
    for name, match in found.items():
        weights[_to(name, match, step)] = weights.pop(name)


def _unstack(weights, found, step, config):
    for name, match in found.items():
        stacked = weights.pop(name)
        for e in range(stacked.shape[0]):
            weights[_to(name, match, step).replace("{e}", str(e))] = stacked[e]


def _join(weights, found, step, config):
    first = step["parts"][0]
    for name, match in found.items():
        if match[1] != first:
            continue
        cut = lambda part: name[:match.start(1)] + part + name[match.end(1):]
        arrays = [weights.pop(cut(part)) for part in step["parts"]]
        axis = step["axis"] % arrays[0].ndim
        if step.get("interleave"):
            shape = list(arrays[0].shape)
            shape[axis] *= len(arrays)
            weights[_to(name, match, step)] = mx.stack(arrays, axis=axis + 1).reshape(shape)
        else:
            weights[_to(name, match, step)] = mx.concatenate(arrays, axis=axis)


def _latent(weights, found, step, config):
    table = config.get("quantization")
    for name, match in found.items():
        if match[1] != "embed_q":
            continue
        parts = []
        for part in ("embed_q", "unembed_out"):
            stem = name[:match.start(1)] + part
            w, scales, biases = (weights.pop(f"{stem}.{k}", None) for k in ("weight", "scales", "biases"))
            if quantised := scales is not None:
                w = mx.dequantize(w, scales, biases, group_size=table["group_size"], bits=table["bits"])
            parts.append(w)
        kv = mx.concatenate([parts[0].swapaxes(-1, -2), parts[1]], axis=1)  # [heads, nope + value, rank]
        kv, to = kv.reshape(-1, kv.shape[-1]), _to(name, match, step)
        if quantised:
            kv, scales, biases = mx.quantize(kv, group_size=table["group_size"], bits=table["bits"])
            stem = to.removesuffix("weight")
            weights[stem + "scales"], weights[stem + "biases"] = scales, biases
        weights[to] = kv


def _fp8(weights, found, step, config):
    n = step["block"]
    for name in found:
        w = weights[name].astype(mx.float32)
        rows, columns = w.shape
        up = lambda x: -(-x // n)
        blocks = mx.pad(w, ((0, -rows % n), (0, -columns % n))).reshape(up(rows), n, up(columns), n)
        scale = mx.abs(blocks).max(axis=(1, 3)) / 448  # float8 e4m3's largest
        codes = mx.to_fp8(blocks / scale[:, None, :, None]).reshape(up(rows) * n, up(columns) * n)
        weights[name] = codes[:rows, :columns]
        weights[name + "_scale_inv"] = scale
    return set(found)


def _packed(weights, found, step, config):
    for name in found:
        stem = name.removesuffix("weight")
        if stem + "scales" not in weights:
            continue
        w, scales = weights.pop(name), weights.pop(stem + "scales")
        del weights[stem + "biases"]
        weights[stem + "weight_packed"] = w.view(mx.int32)
        weights[stem + "weight_scale"] = scales
        weights[stem + "weight_shape"] = mx.array([w.shape[0], w.shape[1] * 8], dtype=mx.int32)


def _bytes(weights, found, step, config):
    for name, match in found.items():
        b = weights.pop(name).view(mx.uint8)
        weights[_to(name, match, step)] = b.reshape(*b.shape[:-1], -1, step["row"])


def _each(change):
    def step(weights, found, step, config):
        for name in found:
            weights[name] = change(weights[name], step)
    return step


VERBS = {
    "rename": _rename, "unstack": _unstack, "join": _join, "latent": _latent, "fp8": _fp8, "packed": _packed, "bytes": _bytes,
    "transpose": _each(lambda w, step: w.transpose(step["axes"])),
    "flatten": _each(lambda w, step: w.reshape(-1)),
    "add": _each(lambda w, step: w + step["value"]),
}
