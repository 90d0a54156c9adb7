#!/usr/bin/env python3
"""Makes the oracle: small random checkpoints and the numbers that mlx-lm computes for them on this CPU.

usage: make.py --out DIR [--checkpoint GGUF] [--models "PATTERN …"] [--force]

A case whose stamp in the manifest (its description, the scripts that make it, versions, processor, BLAS) is still the
same is left alone; one whose stamp is another is removed. README.md describes the files and keys. `ops`, `sampling`,
`smollm2`, the drafts and the adapters are cases like the models: a pattern may name them.
"""

import argparse
import concurrent.futures
import contextlib
import multiprocessing
import os
import pathlib
import shutil
import sys
import time
import traceback

import store
from tables import CASES, ROOT, select

DRAFTS = ["glm_moe_dsa-draft-f32", "qwen3_5-draft-bf16", "qwen3_5_moe-draft-f32"]
ADAPTERS = ["llama-bf16-adapters", "llama-q4-adapters"]
EXTRA = ["ops", "sampling", "smollm2", *DRAFTS, *ADAPTERS]
# The scripts whose change makes a case again, by kind.
SOURCES = {
    "model": ["checkpoint.py", "layouts.py", "expect.py"],
    "ops": ["ops.py", "checkpoint.py"],
    "sampling": ["sampling.py", "checkpoint.py"],
    "smollm2": ["smollm2.py", "convert_gguf.py", "expect.py"],
    "draft": ["drafts.py", "checkpoint.py", "expect.py"],
    "adapters": ["adapters.py", "checkpoint.py", "expect.py", "layouts.py"],
}


def stamp(name, env):
    if name in CASES:
        case = CASES[name]
        return store.stamp(env, repr(case), SOURCES["model"] + ([ROOT / case.page] if case.page else []))
    kind = "draft" if name in DRAFTS else "adapters" if name in ADAPTERS else name
    return store.stamp(env, name, SOURCES[kind])


def make_model(name, out):
    import checkpoint
    import expect
    from mlx_lm.utils import load_model

    case = CASES[name]
    with store.folder(out / name) as tmp:
        checkpoint.write(case, tmp)
        model, _ = load_model(tmp, trust_remote_code=bool(case.page))  # as a user's checkpoint is opened: names, quantisation table, strictness
        arrays = expect.expected(case, model)
        store.save(tmp / "expected.safetensors", arrays)
    entry = {
        "kind": "model",
        "model": case.model,
        "graph": case.graph,
        "shows": case.shows,
        "logits_dtype": str(arrays["p7.prefill_logits"].dtype).rsplit(".", 1)[-1],
        "f32_products": case.f32_products,
        "prompts": list(case.prompts),
        "sampled": case.sampled,
    }
    if name in ("llama-bf16", "llama-f16", "llama-f32"):  # one of each dtype: it doubles the work
        entry["changed_without_compile"] = expect.without_compile(case, model, arrays)
    return entry


def start_worker(jit):
    """MLX's CPU compiler keeps its libraries in the temporary folder under fixed names: each lane has its own folder,
    or one would load the other's half-written files. They are kept for the next run."""
    import mlx.core as mx

    mx.set_default_device(mx.cpu)
    jit.mkdir(parents=True, exist_ok=True)
    os.environ["TMPDIR"] = str(jit)


def make(name, out, gguf):
    """(name, its entry in the manifest, seconds). A case that cannot be made has no entry, and its error is printed."""
    start = time.perf_counter()
    try:
        entry = make_entry(name, out, gguf)
    except Exception:
        traceback.print_exc()
        entry = None
    return name, entry, time.perf_counter() - start


def make_entry(name, out, gguf):
    if name in CASES:
        return make_model(name, out)
    if name == "ops":
        import ops

        return ops.make(out)
    if name == "sampling":
        import sampling

        return sampling.make(out)
    if name in DRAFTS:
        import drafts

        return drafts.make(out, name)
    if name in ADAPTERS:
        import adapters

        return adapters.make(out, name)
    import smollm2

    return smollm2.make(out, gguf)


def make_all(todo, out, gguf):
    """Yields what make returns, as it is done. Two lanes: MLX's CPU kernels use one core, and smollm2 takes about as
    long as all the rest."""
    spawn = multiprocessing.get_context("spawn")
    with contextlib.ExitStack() as stack:
        lanes = [
            stack.enter_context(concurrent.futures.ProcessPoolExecutor(
                1, mp_context=spawn, initializer=start_worker, initargs=(out / ".jit" / lane,)))
            for lane in ("small", "smollm2")
        ]
        work = [lanes[n == "smollm2"].submit(make, n, out, gguf) for n in todo]
        for done in concurrent.futures.as_completed(work):
            yield done.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--checkpoint", type=pathlib.Path, help="the SmolLM2 GGUF; without it that case is left out")
    parser.add_argument("--models", default="", help="names of models or cases, * and ? allowed, by spaces or commas")
    parser.add_argument("--force", action="store_true", help="make again what is up to date")
    args = parser.parse_args()

    with store.alone(args.out):
        update(args)


def update(args):
    env = store.environment()
    stamps = {n: stamp(n, env) for n in [*CASES, *EXTRA]}
    manifest_path = args.out / "manifest.json"
    manifest = {"environment": env, "cases": (store.read_json(manifest_path) or {}).get("cases", {})}
    done = manifest["cases"]
    for name, entry in list(done.items()):
        if entry.get("stamp") != stamps.get(name):  # nobody must read it as current
            del done[name]
            shutil.rmtree(args.out / name, ignore_errors=True)
    wanted = select([*CASES, *EXTRA], args.models.replace(",", " ").split())
    if args.checkpoint is None and "smollm2" in wanted:
        wanted.remove("smollm2")
        print("oracle: no --checkpoint, so smollm2 is left out", file=sys.stderr)
    todo = [n for n in wanted if args.force or n not in done or not (args.out / n).is_dir()]
    store.write_json(manifest_path, manifest)
    if not todo:
        print(f"oracle: {len(wanted)} cases up to date in {args.out}")
        return

    start, failed = time.perf_counter(), []
    for i, (name, entry, seconds) in enumerate(make_all(todo, args.out, args.checkpoint), 1):
        if entry is None:
            failed.append(name)
            continue
        done[name] = entry | {"stamp": stamps[name]}
        store.write_json(manifest_path, manifest)
        print(f"oracle: {i}/{len(todo)} {name} {seconds:.1f} s", flush=True)
    print(f"oracle: {len(todo) - len(failed)} cases made in {time.perf_counter() - start:.1f} s, in {args.out}")
    if failed:
        raise SystemExit(f"oracle: these could not be made: {' '.join(failed)}")


if __name__ == "__main__":
    main()
