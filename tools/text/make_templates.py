"""Write what transformers' Jinja gives, for the tests of chat templates and of the engine.

    .venv/bin/python tools/text/make_templates.py text/testdata text/jinja/testdata [SmolLM2.gguf]

text/testdata/rendered.json holds every template of templates/ over every conversation of conversations.json;
text/jinja/testdata/cases.json.gz expressions, tags and white space over one set of variables.
"""

import copy
import datetime
import gzip
import json
import pathlib
import random
import re
import sys

import transformers.utils.chat_template_utils as chat
from jinja2 import TemplateSyntaxError

from expressions import VARIABLES, expressions
from make_expected import gguf_metadata, write

NOW = datetime.datetime(2026, 3, 7, 15, 4, 5)
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


chat.datetime = Clock


def render(source, case):
    messages = chat._normalize_chat_messages(case["messages"])
    try:
        out, _ = chat.render_jinja_template(
            [messages], tools=case.get("tools"), chat_template=source, add_generation_prompt=case["generate"],
            **SPECIAL, **case.get("variables", {}),
        )  # fmt: skip
        return {"text": out[0]}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}


def evaluate(source):
    try:
        template = chat._cached_compile_jinja_template(source)
    except TemplateSyntaxError as e:
        return ["syntax", str(e)]
    except Exception as e:
        return ["error", str(e)]
    try:
        return ["ok", template.render(**copy.deepcopy(VARIABLES))]
    except Exception as e:
        return ["error", str(e)]


def main(out, engine, checkpoint=None):
    conversations = json.loads((out / "conversations.json").read_text(encoding="utf-8"))
    rendered = {}
    sources = {p.stem: p.read_text(encoding="utf-8") for p in sorted((out / "templates").glob("*.jinja"))}
    if checkpoint:
        sources["smollm2"] = gguf_metadata(checkpoint)["chat_template"]
    for name, source in sources.items():
        rendered[name] = [render(source, case) for case in conversations]
        print(name, sum("text" in r for r in rendered[name]), "rendered", sum("error" in r for r in rendered[name]), "refused", file=sys.stderr)
    (out / "rendered.json").write_text(json.dumps(rendered, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    cases = []
    for source in expressions(random.Random(11)):
        kind, result = evaluate(source)
        if " at 0x" in result or "at 0X" in result:
            continue  # an address
        if re.search(r"\|(batch|map|select|reject|items|unique)[^|]*\|wordcount", source):
            continue  # the words of one
        cases.append([source, kind, result if kind == "ok" else ""])
    write(engine / "cases.json.gz", {"variables": VARIABLES, "cases": cases})
    print(len(cases), "cases", file=sys.stderr)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *sys.argv[3:4])
