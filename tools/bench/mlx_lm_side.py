#!/usr/bin/env python3
"""mlx-lm's side of `make bench`.

speed FOLDER IDS DECODE   one JSON line: prompt_tps, decode_tps, first_token_s, tokens
first FOLDER TEXT         the first new token's text, as soon as it is there
"""

import json
import pathlib
import sys
import time

import mlx.core as mx

mx.set_default_device(mx.cpu)

from mlx_lm import load, stream_generate  # noqa: E402
from mlx_lm.generate import generate_step  # noqa: E402
from mlx_lm.utils import load_model  # noqa: E402


def speed(folder, ids_file, decode):
    model, _ = load_model(pathlib.Path(folder))
    ids = json.loads(pathlib.Path(ids_file).read_text())
    list(generate_step(mx.array(ids[:4]), model, max_tokens=2))  # builds the kernels, touches the weights
    start = time.perf_counter()
    times, tokens = [], []
    for token, _ in generate_step(mx.array(ids), model, max_tokens=decode + 1):
        times.append(time.perf_counter())
        tokens.append(token)
    print(json.dumps({
        "prompt_tps": len(ids) / (times[0] - start),
        "decode_tps": decode / (times[-1] - times[0]),
        "first_token_s": times[0] - start,
        "tokens": tokens[:16],
    }))


def first(folder, text):
    model, tokenizer = load(folder)
    for response in stream_generate(model, tokenizer, tokenizer.encode(text), max_tokens=1):
        print(response.text, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "speed":
        speed(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        first(sys.argv[2], sys.argv[3])
