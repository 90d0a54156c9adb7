#!/usr/bin/env python3
"""`make bench-models`: graphrun's exact graphs beside mlx-lm on random checkpoints (README.md). Called by
tools/bench-models.sh."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import measure
import report
import yaml
from run import Side, interleaved, note

HERE = pathlib.Path(__file__).parent
METRICS = [("prompt_tps", "prompt"), ("decode_tps", "decode")]


def checkpoint(name, out):
    """The folder of a model's checkpoint, written where it is not there as models.yaml says."""
    sys.path.insert(0, str(HERE.parent / "oracle"))
    import checkpoint as writer
    import store
    from tables import Case, Quantisation

    given = yaml.safe_load((HERE / "models.yaml").read_text())[name]
    case = Case(name, f"bench-{name}", "", given["config"], dtype=given.get("dtype", "bfloat16"),
                quantisation=Quantisation(**given["quantisation"]) if "quantisation" in given else None)
    folder, said = out / name, out / f"{name}.json"
    stamp = store.stamp(store.environment(), repr(case), ["checkpoint.py"])
    if store.read_json(said) != stamp or not folder.is_dir():
        with store.folder(folder) as tmp:
            writer.write(case, tmp)
        store.write_json(said, stamp)
    return folder


def sides(args, folder, ids_file):
    speed = [args.graphrun, "bench", "--checkpoint", str(folder), "--exact", "--prompt-ids", ids_file,
             "--decode-tokens", str(args.decode), "--repeat", "2", "--json"]
    other = [args.python, str(HERE / "mlx_lm_side.py"), "speed", str(folder), ids_file, str(args.decode), "2"]
    return [Side("graphrun", speed, None), Side("mlx-lm", other, None, preload=args.openblas)]


def measure_model(args, name, folder, ids_file, raw):
    """side -> metric -> values. A repetition is a process of each side; its first pass warms up and does not count."""
    results, tokens = {}, {}
    for i, side in interleaved(sides(args, folder, ids_file), args.repeat):
        got = measure.run(side.speed, side.env(args.threads)).json()
        raw.append({"model": name, "side": side.name} | got)
        for key, _ in METRICS:
            results.setdefault(side.name, {}).setdefault(key, []).append(got[key])
        tokens[side.name] = got["tokens"]
        note(f"{name} {i + 1}/{args.repeat} {side.name}: prompt {got['prompt_tps']:.1f}, decode {got['decode_tps']:.1f} tok/s")
    if tokens["graphrun"] != tokens["mlx-lm"]:
        raise SystemExit(f"bench-models: {name}: the tokens differ: {tokens}")
    return results


def table(results):
    head = ["", *(f"{side} {title} tok/s" for _, title in METRICS for side in ("graphrun", "mlx-lm")), *(f"{t} ratio" for _, t in METRICS)]
    rows = [[name, *(report.cell(r[side][key], "tok/s") for key, _ in METRICS for side in ("graphrun", "mlx-lm")),
             *(f"{ratio(r, key):.2f}" for key, _ in METRICS)] for name, r in results.items()]
    return report.lines([head, *rows])


def ratio(r, key):
    return report.ratio(r["graphrun"][key], r["mlx-lm"][key], True)


def main():
    known = list(yaml.safe_load((HERE / "models.yaml").read_text()))
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("graphrun", "python", "openblas", "models"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    for name in ("prompt", "decode", "repeat", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--write", help="write this model's checkpoint and do no more")
    args = parser.parse_args()
    if args.write:
        checkpoint(args.write, args.out)
        return

    names = args.models.replace(",", " ").split() or known
    if wrong := set(names) - set(known):
        raise SystemExit(f"bench-models: no model {' '.join(sorted(wrong))}; there are: {' '.join(known)}")
    ids = [3 + i * 7919 % 8000 for i in range(args.prompt)]
    results, raw, load = {}, [], os.getloadavg()[0]
    if load > 0.5:
        note(f"the machine is busy (load {load:.1f}): the figures will be disturbed")
    with tempfile.TemporaryDirectory() as tmp:
        ids_file = os.path.join(tmp, "ids.json")
        pathlib.Path(ids_file).write_text(json.dumps(ids))
        for name in names:
            # In a process of its own: what has loaded MLX would slow the others down.
            subprocess.run([sys.executable, "-B", *sys.argv, "--write", name], check=True)
            try:
                results[name] = measure_model(args, name, args.out / name, ids_file, raw)
            except RuntimeError as failure:
                raise SystemExit(f"bench-models: {failure}") from None
    print(f"\nRandom checkpoints, prompt of {args.prompt} tokens, {args.decode} decoded, {args.threads} threads, median of {args.repeat} with the"
          f" range;\nratios above 1: graphrun is faster. Load of the machine before: {load:.2f}\n")
    print(table(results) + "\n")
    for name, r in results.items():
        for key, title in METRICS:
            print(f"ratio {name}_{title} {ratio(r, key):.3f}")
    if args.json:
        args.json.write_text(json.dumps({"sizes": {"prompt": args.prompt, "decode": args.decode}, "measurements": raw}, indent=1) + "\n")


if __name__ == "__main__":
    main()
