"""Measurements to a table and ratio lines."""

import statistics

# key, title, unit, larger is better, ratio name (None: in the table only)
METRICS = [
    ("prompt_tps", "prompt {prompt}", "tok/s", True, "prompt{prompt}"),
    ("decode_tps", "decode {decode}", "tok/s", True, "decode{decode}"),
    ("first_s", "first token", "s", False, "first_token"),
    ("peak_rss_bytes", "peak memory", "MiB", False, "peak_memory"),
]
OURS = "graphrun"


def figure(value, unit):
    value = value / 2**20 if unit == "MiB" else value
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell(values, unit):
    """Median, and the range when there is one."""
    if not values:
        return "-"
    text = figure(statistics.median(values), unit)
    return f"{text} ({figure(min(values), unit)}-{figure(max(values), unit)})" if len(values) > 1 else text


def ratio(ours, theirs, larger_is_better):
    a, b = statistics.median(ours), statistics.median(theirs)
    return a / b if larger_is_better else b / a


def table(results, sizes):
    """results: side -> key -> list of values."""
    head = ["", *(f"{title.format(**sizes)} {unit}" for _, title, unit, _, _ in METRICS)]
    rows = [[side, *(cell(values.get(key, []), unit) for key, _, unit, _, _ in METRICS)]
            for side, values in results.items()]
    for side, values in results.items():
        if side == OURS or OURS not in results:
            continue
        ratios = []
        for key, _, _, larger, _ in METRICS:
            ours, theirs = results[OURS].get(key), values.get(key)
            ratios.append(f"{ratio(ours, theirs, larger):.2f}x" if ours and theirs else "-")
        rows.append([f"{OURS} / {side}", *ratios])
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    line = lambda r: "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths))).rstrip()
    return "\n".join(line(r) for r in [head, *rows])


def ratio_lines(results, sizes):
    for key, _, _, larger, name in METRICS:
        for side, values in results.items():
            ours, theirs = results.get(OURS, {}).get(key), values.get(key)
            if side != OURS and ours and theirs:
                other = side.replace("-", "_").replace(".", "_")
                yield f"ratio {name.format(**sizes)}_vs_{other} {ratio(ours, theirs, larger):.3f}"
