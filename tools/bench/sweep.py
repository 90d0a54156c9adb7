"""What `make bench` measures beside its first table: other prompts and contexts, one thread, and the machine's limits."""

import json
import os
import pathlib
import statistics

import measure
import report

# (prompt, decode): what is decoded after 16, 1,024 and 4,096 positions counts, and how fast prompts of 16, 128 and 2,048 are read.
POINTS = [(16, 32), (128, 2), (1024, 32), (2048, 2), (4096, 32)]
PROMPTS, CONTEXTS = (16, 128, 2048), (16, 1024, 4096)
ONE_THREAD = 64  # tokens decoded after the first table's prompt


def repeated(ids, n):
    return (ids * (n // len(ids) + 1))[:n]


class Sweep:
    """sides(ids_file, decode, threads) gives the commands; speeds are what the first table found, side -> prompt tokens a second."""

    def __init__(self, sides, speeds, ids, folder, args, note):
        self.sides, self.speeds, self.ids, self.folder, self.args, self.note = sides, speeds, ids, folder, args, note
        self.found = {}  # side -> column -> values

    def run(self, interleaved):
        for prompt, decode in POINTS:
            self.point(prompt, decode, self.args.threads, interleaved, {
                **({f"prompt {prompt}": "prompt_tps"} if prompt in PROMPTS else {}),
                **({f"decode at {prompt}": "decode_tps"} if prompt in CONTEXTS else {})})
        if self.args.threads > 1:
            self.point(self.args.prompt, ONE_THREAD, 1, interleaved, {
                f"1 thread: prompt {self.args.prompt}": "prompt_tps", f"1 thread: decode {ONE_THREAD}": "decode_tps"})
        return self.found

    def point(self, prompt, decode, threads, interleaved, columns):
        path = os.path.join(self.folder, f"ids{prompt}.json")
        pathlib.Path(path).write_text(json.dumps(repeated(self.ids, prompt)))
        todo = [s for s in self.sides(path, decode, threads) if prompt / self.speeds[s.name] <= self.args.patience]
        for i, side in interleaved(todo, self.args.repeat):
            got = measure.run(side.speed, side.env(threads)).json()
            said = []
            for column, key in columns.items():
                self.found.setdefault(side.name, {}).setdefault(column, []).append(got[key])
                said.append(f"{column} {got[key]:.1f} tok/s")
            self.note(f"{i + 1}/{self.args.repeat} {side.name}: {', '.join(said)}")


def columns(found):
    out = [f"prompt {n}" for n in PROMPTS] + [f"decode at {n}" for n in CONTEXTS]
    return out + sorted({c for side in found.values() for c in side if c.startswith("1 thread")}, reverse=True)


def table(found):
    head = ["tokens/s", *columns(found)]
    rows = [[side, *(report.cell(values.get(c, []), "tok/s") for c in head[1:])] for side, values in found.items()]
    for ours, side in report.pairs(found):
        rows.append([f"{ours} / {side}", *(f"{r:.2f}x" if (r := ratio(found, ours, side, c)) else "-" for c in head[1:])])
    return report.lines([head, *rows])


def ratio(found, ours, side, column):
    a, b = found[ours].get(column), found[side].get(column)
    return report.ratio(a, b, True) if a and b else None


def ratio_lines(found):
    for ours, side in report.pairs(found):
        for c in columns(found):
            if r := ratio(found, ours, side, c):
                name = c.replace("1 thread: ", "one_thread_").replace(" ", "_")
                yield f"ratio {report.name(ours, name, side)} {r:.3f}"


def scaling_lines(results, found, prompt):
    """How much faster two and more threads are than one, beside the others' gain."""
    gain = {}
    for side, values in found.items():
        for metric, column in (("prompt", f"1 thread: prompt {prompt}"), ("decode", f"1 thread: decode {ONE_THREAD}")):
            if values.get(column):
                gain[side, metric] = statistics.median(results[side][f"{metric}_tps"]) / statistics.median(values[column])
    for metric in ("prompt", "decode"):
        if said := [f"{side} {gain[side, metric]:.2f}x" for side in found if (side, metric) in gain]:
            yield f"gain of all threads over one, {metric}: " + ", ".join(said)


def share_lines(results, limits, folder, checkpoint):
    """What share of the machine's limits our sides reach: decoding reads every weight for each token, a prompt multiplies with each
    weight of its layers."""
    c = json.loads((pathlib.Path(folder) / "config.json").read_text())
    head = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    layer = c["hidden_size"] * (2 * head * (c["num_attention_heads"] + c["num_key_value_heads"]) + 3 * c["intermediate_size"])
    size, operations = os.path.getsize(checkpoint), 2 * layer * c["num_hidden_layers"]
    yield f"limits, measured: {limits['read'] / 1e9:.1f} GB/s read, {limits['flops'] / 1e9:.0f} GFLOP/s float32 (OpenBLAS)"
    for side, values in results.items():
        if side in report.OURS:
            read, flops = size * statistics.median(values["decode_tps"]), operations * statistics.median(values["prompt_tps"])
            yield (f"{side}: decoding reads weights at {read / 1e9:.1f} GB/s, {100 * read / limits['read']:.0f} % of it;"
                   f" a prompt takes {flops / 1e9:.0f} GFLOP/s, {100 * flops / limits['flops']:.0f} %")
