"""The settings tables: models/NAME.yaml, one for each shipped model, read into cases.

A case is one small random checkpoint: a config as config.json holds it, the dtype or quantisation that it is stored in,
the layout of its tensors, and what it is there to show. README.md describes the format. Sizes are the smallest that
keep every path alive: rows are multiples of the largest group, grouped-query attention has more than one head per
key/value head, and head_dim differs from hidden / heads where that is the point.
"""

import copy
import dataclasses
import fnmatch
import pathlib
from typing import Any

import yaml

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent


@dataclasses.dataclass(frozen=True)
class Quantisation:
    """How `mlx_lm.utils.quantize_model` is called, and what differs per module.

    overrides maps a module path to its parameters, or to False for a module that stays dense. recorded=False leaves
    the overrides out of config.json: mlx-lm then recovers them from the tensors' shapes.
    """

    bits: int = 4
    group: int = 64
    mode: str = "affine"
    overrides: dict[str, Any] = dataclasses.field(default_factory=dict)
    recorded: bool = True
    only: str = ""  # what a module's path must hold to be quantised


@dataclasses.dataclass(frozen=True)
class Case:
    model: str  # the shipped model, or the graph's file
    name: str
    shows: str
    config: dict[str, Any]
    dtype: str = "bfloat16"
    quantisation: Quantisation | None = None
    norms: str | None = None  # dtype of the norms' gains where it differs from dtype
    layout: str = "converted"  # as mlx-lm saves it
    steps: tuple[dict[str, Any], ...] = ()  # what makes the layout of it (layouts.py)
    prompts: tuple[str, ...] = ("p7", "p33")
    shards: int = 1
    sampled: bool = False  # also record sampled generation
    traced: bool = False  # record each layer's output too, of models that are built like llama
    page: str = ""  # a Python page in mlx-lm's style, where mlx-lm has no such model
    graph: str = ""  # its graph file, where graphrun does not ship it

    @property
    def f32_products(self) -> bool:
        """Whether a dense float32 matrix product runs, whose bits follow the BLAS in use (attention's included)."""
        return self.dtype == "float32" or self.norms == "float32"


def override(config, changes):
    """changes over config. A dotted key goes into a nested object."""
    for key, value in changes.items():
        *path, last = key.split(".")
        at = config
        for part in path:
            at = at[part]
        at[last] = copy.deepcopy(value)
    return config


def allow(where, given, known):
    for key in given:
        if key not in known:
            raise SystemExit(f"oracle: {where}: no key {key!r}; there are: {' '.join(sorted(known))}")


def read(path):
    """The cases of one table."""
    table = yaml.safe_load(path.read_text())
    model = path.stem
    allow(path, table, {"config", "configs", "traced", "settings", "layouts", "entries", "missing", "page", "graph"})
    layouts = {"converted": [], **table.get("layouts", {})}
    for name, setting in table["settings"].items():
        where = f"{path}: {name}"
        fields = {f.name for f in dataclasses.fields(Case)} - {"model", "name", "steps", "page", "graph", "traced"}
        allow(where, setting, fields | {"of", "without"})
        changes = table.get("configs", {})[setting["of"]] if "of" in setting else {}
        # a config that names a model type stands for itself
        config = copy.deepcopy(changes) if "model_type" in changes else override(copy.deepcopy(table["config"]), changes)
        override(config, setting.get("config", {}))
        for key in setting.get("without", []):
            del config[key]
        given = {k: v for k, v in setting.items() if k not in ("of", "without", "config", "quantisation", "prompts")}
        if "quantisation" in setting:
            given["quantisation"] = Quantisation(**setting["quantisation"])
        if "prompts" in setting:
            given["prompts"] = tuple(setting["prompts"])
        yield Case(model, f"{model}-{name}", config=config, steps=tuple(layouts[setting.get("layout", "converted")]),
                   traced=table.get("traced", False), page=table.get("page", ""), graph=table.get("graph", ""), **given)


CASES = {case.name: case for path in sorted((HERE / "models").glob("*.yaml")) for case in read(path)}


def select(names, patterns):
    """The names that are one of the patterns, or whose model is (all of them when there are none), in order."""
    if not patterns:
        return list(names)
    model = lambda n: CASES[n].model if n in CASES else n.split("-")[0]
    hit = lambda n, p: fnmatch.fnmatchcase(n, p) or fnmatch.fnmatchcase(model(n), p)
    for p in patterns:
        if not any(hit(n, p) for n in names):
            raise SystemExit(f"oracle: no case and no model matches {p!r}; models: {' '.join(dict.fromkeys(map(model, names)))}")
    return [n for n in names if any(hit(n, p) for p in patterns)]
