#!/usr/bin/env python3
"""What the machine can do: limits.py THREADS prints a JSON line with `read`, the bytes a second that so many threads read from
memory, and `flops`, the float32 operations a second of a matrix product on so many."""

import concurrent.futures
import json
import sys
import time

import numpy as np


def best(times, work):
    """The fastest of a few runs, after one that warms up."""
    work()
    found = 0.0
    for _ in range(times):
        start = time.perf_counter()
        work()
        found = max(found, 1 / (time.perf_counter() - start))
    return found


def main():
    threads = int(sys.argv[1])
    size = 128 << 20  # of a thread: more than any cache
    parts = [np.ones(size // 4, np.float32) for _ in range(threads)]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        read = best(7, lambda: list(pool.map(np.max, parts))) * size * threads
    n = 1536
    a = np.ones((n, n), np.float32)
    print(json.dumps({"read": read, "flops": best(5, lambda: a @ a) * 2 * n**3}))


if __name__ == "__main__":
    main()
