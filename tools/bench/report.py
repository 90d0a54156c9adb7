"""Measurements to a table and ratio lines."""

import statistics

# key, title, unit, larger is better, ratio name (None: in the table only)
METRICS = [
    ("prompt_tps", "prompt {prompt}", "tok/s", True, "prompt{prompt}"),
    ("decode_tps", "decode {decode}", "tok/s", True, "decode{decode}"),
    ("first_s", "first token", "s", False, "first_token"),
    ("peak_rss_bytes", "peak memory", "MiB", False, "peak_memory"),
]
OURS = {"graphrun": "", "graphrun-exact": "exact_"}  # side -> what its ratios' names begin with


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
    for ours, side in pairs(results):
        ratios = []
        for key, _, _, larger, _ in METRICS:
            a, b = results[ours].get(key), results[side].get(key)
            ratios.append(f"{ratio(a, b, larger):.2f}x" if a and b else "-")
        rows.append([f"{ours} / {side}", *ratios])
    return lines([head, *rows])


def lines(rows):
    """Rows of cells below each other."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    line = lambda r: "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths))).rstrip()
    return "\n".join(line(r) for r in rows)


def pairs(results):
    """Each of our sides with each other one that was measured."""
    return [(ours, side) for ours in OURS if ours in results for side in results if side not in OURS]


def name(ours, figure, side):
    """A ratio's name."""
    other = side.replace("-", "_").replace(".", "_")
    return f"{OURS[ours]}{figure}_vs_{other}"


def ratio_lines(results, sizes):
    for ours, side in pairs(results):
        for key, _, _, larger, title in METRICS:
            a, b = results[ours].get(key), results[side].get(key)
            if a and b:
                yield f"ratio {name(ours, title.format(**sizes), side)} {ratio(a, b, larger):.3f}"
