#!/usr/bin/env python3
"""mlx-lm's side of `make bench`.

speed FOLDER IDS DECODE [PASSES]   one JSON line for each pass: prompt_tps, decode_tps, first_token_s, tokens
first FOLDER TEXT         the first new token's text, as soon as it is there
"""

import json
import pathlib
import sys
import time

import mlx.core as mx

mx.set_default_device(mx.cpu)

# mlx-lm 0.32.2 passes global_scale=None, which this MLX's gather_qmm does not know: dropping it changes nothing.
_gather_qmm = mx.gather_qmm
if "global_scale" not in (_gather_qmm.__doc__ or ""):
    mx.gather_qmm = lambda *args, global_scale=None, **kwargs: _gather_qmm(*args, **kwargs)

from mlx_lm import load, stream_generate  # noqa: E402
from mlx_lm.generate import generate_step  # noqa: E402
from mlx_lm.utils import load_model  # noqa: E402


def speed(folder, ids_file, decode, passes):
    model, _ = load_model(pathlib.Path(folder))
    ids = json.loads(pathlib.Path(ids_file).read_text())
    list(generate_step(mx.array(ids[:4]), model, max_tokens=2))  # builds the kernels, touches the weights
    for _ in range(passes):
        start = time.perf_counter()
        times, tokens = [], []
        for token, _ in generate_step(mx.array(ids), model, max_tokens=decode + 1):
            times.append(time.perf_counter())
            tokens.append(token)
        print(json.dumps({
            "prompt_tps": len(ids) / (times[0] - start),
            "decode_tps": (decode - 1) / (times[-1] - times[1]),
            "first_token_s": times[0] - start,
            "tokens": tokens[:16],
        }))


def first(folder, text):
    model, tokenizer = load(folder)
    for response in stream_generate(model, tokenizer, tokenizer.encode(text), max_tokens=1):
        print(response.text, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "speed":
        speed(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]) if len(sys.argv) > 5 else 1)
    else:
        first(sys.argv[2], sys.argv[3])
