"""One measurement: a process started, its first output timed, its peak memory read."""

import dataclasses
import json
import os
import platform
import re
import subprocess
import tempfile
import time


@dataclasses.dataclass
class Outcome:
    first_output_s: float | None  # from just before the start to the first byte of standard output
    peak_rss: int  # bytes
    out: str
    err: str

    def json(self):
        """The last line of standard output that is a JSON object."""
        for line in reversed(self.out.splitlines()):
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError(f"no JSON line in the output:\n{self.out[-2000:]}\n{self.err[-2000:]}")

    def blas_kernels(self):
        """What OpenBLAS says at its start with OPENBLAS_VERBOSE=2; None if none was loaded."""
        m = re.search(r"^Core: (\S+)", self.err + "\n" + self.out, re.MULTILINE)
        return m[1] if m else None


def run(command, env):
    with tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, stdin=subprocess.DEVNULL, env=env)
        first = child.stdout.read(1)
        at = time.perf_counter() - start if first else None
        out = first + child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)  # it is reaped: Popen must not wait for it
        err.seek(0)
        text = err.read().decode(errors="replace")
    if child.returncode != 0:
        raise RuntimeError(f"exit status {child.returncode}: {' '.join(command)}\n{out[-1000:]!r}\n{text[-3000:]}")
    unit = 1 if platform.system() == "Darwin" else 1024
    return Outcome(at, usage.ru_maxrss * unit, out.decode(errors="replace"), text)
