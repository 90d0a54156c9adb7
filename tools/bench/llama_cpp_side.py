#!/usr/bin/env python3
"""llama.cpp's side of `make bench`, through llama-cpp-python's low-level calls: no Python work per token but the argmax.

speed FILE.gguf IDS DECODE THREADS   one JSON line: prompt_tps, decode_tps, first_token_s, tokens, system
first FILE.gguf TEXT - THREADS       the first new token's text, as soon as it is there
logits FILE.gguf IDS OUT THREADS     writes the logits after each of the ids, float32, one after the other
"""

import ctypes
import json
import pathlib
import sys
import time

import llama_cpp as ll
import numpy as np


@ll.llama_log_callback
def quiet(level, text, data):
    pass


class Session:
    """One model and one context with llama.cpp's default batch sizes."""

    def __init__(self, path, threads, context=1024):
        ll.llama_log_set(quiet, ctypes.c_void_p(0))
        ll.llama_backend_init()
        self.model = ll.llama_model_load_from_file(str(path).encode(), ll.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"llama.cpp could not open {path}")
        params = ll.llama_context_default_params()
        params.n_ctx = context
        params.n_threads = params.n_threads_batch = threads
        self.batch = params.n_batch
        self.context = ll.llama_init_from_model(self.model, params)
        self.vocab = ll.llama_model_get_vocab(self.model)
        self.size = ll.llama_vocab_n_tokens(self.vocab)

    def next(self, ids):
        """Feeds the ids, a batch of llama.cpp's at a time; the most likely next one."""
        for at in range(0, len(ids), self.batch):
            part = ids[at:at + self.batch]
            tokens = (ll.llama_token * len(part))(*part)
            status = ll.llama_decode(self.context, ll.llama_batch_get_one(tokens, len(part)))
            if status != 0:
                raise SystemExit(f"llama_decode: {status}")
        return int(self.logits().argmax())

    def logits(self):
        """After the last id that was fed."""
        return np.ctypeslib.as_array(ll.llama_get_logits_ith(self.context, -1), shape=(self.size,))

    def clear(self):
        ll.llama_memory_clear(ll.llama_get_memory(self.context), True)

    def tokenize(self, text):
        data, room = text.encode(), 4096
        tokens = (ll.llama_token * room)()
        n = ll.llama_tokenize(self.vocab, data, len(data), tokens, room, True, True)
        return list(tokens[:n])

    def piece(self, token):
        buffer = ctypes.create_string_buffer(256)
        n = ll.llama_token_to_piece(self.vocab, token, buffer, len(buffer), 0, True)
        return buffer.raw[:n]


def speed(path, ids_file, decode, threads):
    ids = json.loads(pathlib.Path(ids_file).read_text())
    session = Session(path, threads, max(1024, len(ids) + decode + 1))
    session.next([session.next(ids[:4])])  # touches the weights
    session.clear()
    start = time.perf_counter()
    tokens = [session.next(ids)]
    times = [time.perf_counter()]
    for _ in range(decode):
        tokens.append(session.next(tokens[-1:]))
        times.append(time.perf_counter())
    print(json.dumps({
        "prompt_tps": len(ids) / (times[0] - start),
        "decode_tps": (decode - 1) / (times[-1] - times[1]),
        "first_token_s": times[0] - start,
        "tokens": tokens[:16],
        "system": ll.llama_print_system_info().decode().strip(),
    }))


def first(path, text, threads):
    session = Session(path, threads)
    token = session.next(session.tokenize(text))
    sys.stdout.buffer.write(session.piece(token) + b"\n")
    sys.stdout.buffer.flush()


def logits(path, ids_file, out, threads):
    ids = json.loads(pathlib.Path(ids_file).read_text())
    session = Session(path, threads, max(1024, len(ids)))
    with open(out, "wb") as file:
        for token in ids:
            session.next([token])
            file.write(session.logits().tobytes())


if __name__ == "__main__":
    mode, path, what, decode, threads = sys.argv[1:6]
    if mode == "speed":
        speed(path, what, int(decode), int(threads))
    elif mode == "logits":
        logits(path, what, decode, int(threads))
    else:
        first(path, what, int(threads))
