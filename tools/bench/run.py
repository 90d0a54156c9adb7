#!/usr/bin/env python3
"""`make bench`: runs the sides in turn and prints the table (README.md). Called by tools/bench.sh, which prepares them."""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

import measure
import report
import sweep

HERE = pathlib.Path(__file__).parent


class Side:
    """How one program is started. speed and first are commands."""

    def __init__(self, name, speed, first, preload=None):
        self.name, self.speed, self.first, self.preload = name, speed, first, preload

    def env(self, threads):
        env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "LD_PRELOAD")}
        env |= {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), "GOMAXPROCS": str(threads),
                "OPENBLAS_VERBOSE": "2", "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        return env | ({"LD_PRELOAD": self.preload} if self.preload else {})


def sides(args, ids_file, text, decode, threads):
    decode, threads = str(decode), str(threads)
    mlx = [args.mlx_python, str(HERE / "mlx_lm_side.py")]
    llama = [args.llama_python, str(HERE / "llama_cpp_side.py")]
    mlx_speed = [*mlx, "speed", args.mlx_folder, ids_file, decode]
    mlx_first = [*mlx, "first", args.mlx_folder, text]
    common = ["--checkpoint", args.checkpoint, "--threads", threads]
    ours = lambda name, *flags: Side(
        name,
        [args.graphrun, "bench", *common, *flags, "--prompt-ids", ids_file, "--decode-tokens", decode, "--repeat", "1", "--json"],
        [args.graphrun, "run", *common, *flags, "--raw", "--prompt", text, "--max-tokens", "1"])
    known = {
        "graphrun": lambda: ours("graphrun"),
        "graphrun-exact": lambda: ours("graphrun-exact", "--exact"),
        "mlx-lm": lambda: Side("mlx-lm", mlx_speed, mlx_first, preload=args.openblas),
        "mlx-lm-stock": lambda: Side("mlx-lm-stock", mlx_speed, mlx_first),
        "llama.cpp": lambda: Side(
            "llama.cpp",
            [*llama, "speed", args.checkpoint, ids_file, decode, threads],
            [*llama, "first", args.checkpoint, text, "-", threads]),
    }
    for name in args.sides.split():
        if name not in known:
            raise SystemExit(f"bench: no side {name!r}; there are: {' '.join(known)}")
        yield known[name]()


def interleaved(items, repeat):
    """(repetition, item), the order turned by one each time, so that none is always first."""
    for i in range(repeat):
        for j in range(len(items)):
            yield i, items[(i + j) % len(items)]


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def measure_all(args, todo, raw):
    results, kernels, system, tokens, nodes = {s.name: {} for s in todo}, {}, None, {}, {}
    add = lambda side, key, value: results[side.name].setdefault(key, []).append(value)
    for side in todo:  # file cache, MLX's compiled kernels
        measure.run(side.first, side.env(args.threads))
    for i, side in interleaved(todo, args.first_repeat):
        out = measure.run(side.first, side.env(args.threads))
        if out.first_output_s is None:
            raise RuntimeError(f"{side.name} wrote no token")
        add(side, "first_s", out.first_output_s)
        raw.append({"side": side.name, "first_s": out.first_output_s})
    for i, side in interleaved(todo, args.repeat):
        out = measure.run(side.speed, side.env(args.threads))
        got = out.json()
        note(f"{i + 1}/{args.repeat} {side.name}: prompt {got['prompt_tps']:.1f}, decode {got['decode_tps']:.1f} tok/s")
        add(side, "prompt_tps", got["prompt_tps"])
        add(side, "decode_tps", got["decode_tps"])
        add(side, "peak_rss_bytes", out.peak_rss)
        if side.preload or side.name in report.OURS:  # elsewhere it would be numpy's own, which computes nothing here
            kernels[side.name] = out.blas_kernels() or "none loaded"
        if "nodes_per_token" in got:
            nodes[side.name] = got["nodes_per_token"]
        system = got.get("system", system)
        tokens[side.name] = got.get("tokens")
        raw.append({"side": side.name, "peak_rss_bytes": out.peak_rss} | got)
    return results, kernels, system, tokens, nodes


def agreement(tokens):
    """How many of the first greedy tokens each side shares with mlx-lm: equal work, or the figures mean little."""
    base = next((tokens[n] for n in ("mlx-lm", "mlx-lm-stock") if tokens.get(n)), None)
    for name, got in tokens.items():
        if base and got and not name.startswith("mlx-lm"):
            n = min(len(base), len(got))
            same = next((i for i in range(n) if base[i] != got[i]), n)
            yield f"{name}: first {same} of {n} tokens as mlx-lm's"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("graphrun", "checkpoint", "mlx-python", "mlx-folder", "llama-python"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--openblas", default=None)
    parser.add_argument("--sides", required=True)
    parser.add_argument("--prompt", type=int, required=True)
    parser.add_argument("--decode", type=int, required=True)
    parser.add_argument("--repeat", type=int, required=True)
    parser.add_argument("--first-repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--patience", type=float, required=True)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()

    prompt = json.loads((HERE / "prompt.json").read_text())
    if not 2 <= args.prompt <= len(prompt["ids512"]) or args.decode < 2 or args.repeat < 1:
        raise SystemExit(f"bench: PROMPT_TOKENS is 2 to {len(prompt['ids512'])}, DECODE_TOKENS at least 2, REPEAT at least 1")
    raw = []
    with tempfile.TemporaryDirectory() as tmp:
        ids_file = os.path.join(tmp, "ids.json")
        pathlib.Path(ids_file).write_text(json.dumps(prompt["ids512"][:args.prompt]))
        at = lambda ids_file, decode, threads: list(sides(args, ids_file, prompt["text16"], decode, threads))
        todo = at(ids_file, args.decode, args.threads)
        load = os.getloadavg()[0]
        if load > 0.5:
            note(f"the machine is busy (load {load:.1f}): the figures will be disturbed")
        try:
            limits = measure.run([args.mlx_python, str(HERE / "limits.py"), str(args.threads)], todo[0].env(args.threads)).json()
            results, kernels, system, tokens, nodes = measure_all(args, todo, raw)
            speeds = {side: statistics.median(values["prompt_tps"]) for side, values in results.items()}
            found = sweep.Sweep(at, speeds, prompt["ids512"], tmp, args, note).run(interleaved) if args.patience > 0 else {}
        except RuntimeError as failure:
            raise SystemExit(f"bench: {failure}") from None

    sizes = {"prompt": args.prompt, "decode": args.decode}
    print(f"\nSmolLM2-135M-Instruct Q4_1, {args.threads} threads, median of {args.repeat} (first token: {args.first_repeat});"
          " ratios above 1: graphrun is better\n")
    print(report.table(results, sizes))
    print()
    if found:
        print(sweep.table(found))
        print(f"(-: its prompt takes more than {args.patience:.0f} s)\n")
        for line in sweep.scaling_lines(results, found, args.prompt):
            print(line)
    for line in sweep.share_lines(results, limits, args.mlx_folder, args.checkpoint):
        print(line)
    for name, core in kernels.items():
        print(f"OpenBLAS kernels, {name}: {core}")
    for name, n in nodes.items():
        print(f"MLX nodes a token, {name}: {n}")
    if system:
        print(f"llama.cpp: {system}")
    for line in agreement(tokens):
        print(line)
    print(f"load of the machine before the first measurement: {load:.2f}")
    print()
    for line in [*report.ratio_lines(results, sizes), *sweep.ratio_lines(found)]:
        print(line)
    if args.json:
        args.json.write_text(json.dumps({"sizes": sizes, "threads": args.threads, "limits": limits, "measurements": raw, "sweep": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
