"""Where results go, and how a later run knows that they still hold."""

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
from importlib import metadata

HERE = pathlib.Path(__file__).parent


def cpu():
    """Model and instruction sets: MLX's own kernels and a BLAS choose by them, so bits may."""
    if platform.system() == "Darwin":
        ask = lambda k: subprocess.run(["sysctl", "-n", k], capture_output=True, text=True).stdout.strip()
        return {"model": ask("machdep.cpu.brand_string"), "flags": ask("machdep.cpu.features").lower().split()}
    facts = {}
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines():
            key, _, value = line.partition(":")
            facts[key.strip()] = value.strip()
    flags = facts.get("flags") or facts.get("Features") or ""
    model = facts.get("model name") or facts.get("CPU part") or platform.processor()
    return {"model": model, "flags": sorted(flags.split())}


def blas():
    """The OpenBLAS in front of MLX's own BLAS (LD_PRELOAD), its kernels and threads; None for MLX's own."""
    lib = ctypes.CDLL(None)
    try:
        lib.openblas_get_config.restype = lib.openblas_get_corename.restype = ctypes.c_char_p
        return {
            "config": lib.openblas_get_config().decode(),
            "kernels": lib.openblas_get_corename().decode(),
            "threads": lib.openblas_get_num_threads(),
        }
    except AttributeError:
        return None


def environment():
    """Everything outside the scripts that bits may follow."""
    machine = cpu()
    return {
        "mlx": metadata.version("mlx"),
        "mlx_lm": metadata.version("mlx-lm"),
        "numpy": metadata.version("numpy"),
        "arch": platform.machine(),
        "system": platform.system(),
        "cpu": machine["model"],
        "cpu_flags_sha256": hashlib.sha256(" ".join(machine["flags"]).encode()).hexdigest()[:16],
        "blas": blas(),
    }


def stamp(env, description, sources):
    """One digest over the environment, what is asked for, and the scripts that answer."""
    h = hashlib.sha256(json.dumps([env, description], sort_keys=True).encode())
    for name in sorted({"store.py", *map(str, sources)}):
        h.update(hashlib.sha256((HERE / name).read_bytes()).digest())
    return h.hexdigest()[:32]


@contextlib.contextmanager
def alone(path):
    """Waits until no other run holds the folder: they share a manifest."""
    path.mkdir(parents=True, exist_ok=True)
    with open(path / ".lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def write_json(path, value):
    """Through a temporary file, so that an interrupted run leaves no half-written one."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.with_name(f".{path.name}.tmp")
    tmp.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")
    os.replace(tmp, path)


def read_json(path):
    with contextlib.suppress(OSError, ValueError):
        return json.loads(pathlib.Path(path).read_text())
    return None


@contextlib.contextmanager
def folder(path):
    """A folder that appears under its name only when it is complete."""
    path = pathlib.Path(path)
    tmp = path.with_name(f".{path.name}.tmp")
    shutil.rmtree(tmp, ignore_errors=True)
    tmp.mkdir(parents=True)
    yield tmp
    shutil.rmtree(path, ignore_errors=True)
    os.replace(tmp, path)


def save(path, arrays, fp8=()):
    """safetensors with every array in row-major order, in the dtype it has; the bytes of those in fp8 are float8."""
    import mlx.core as mx

    mx.save_safetensors(str(path), {k: mx.contiguous(v) for k, v in sorted(arrays.items())})
    if fp8:
        data = pathlib.Path(path).read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
        for name in fp8:
            header[name]["dtype"] = "F8_E4M3"  # MLX has no such dtype: it reads bytes
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size:])


def describe(arrays):
    """{name: "dtype[shape]"}, for people and for tests that check what they read."""
    return {k: f"{str(v.dtype).rsplit('.', 1)[-1]}{list(v.shape)}" for k, v in sorted(arrays.items())}
