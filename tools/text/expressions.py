"""Templates that try out the engine: expressions by hand (expressions.txt), expressions and white space at random."""

import pathlib

VARIABLES = {"i":3,"n":-7,"f":2.5,"g":0.1,"s":"Hello World","t":" pad\t","u":"naïve ß Σ","e":"","l":[1,2,3],"m":["b","a","C"],"d":{"a":1,"b":"x","items":5},"z":None,"b":True,"nested":{"x":[{"k":"v"},{"k":"w","q":[1,[2,3]]}]},"msgs":[{"role":"system","content":"sys"},{"role":"user","content":"Hi <b>"},{"role":"assistant","content":None,"tool_calls":[{"function":{"name":"f","arguments":{"x":1.0,"y":"é\n\"q\""}}}]}],"big":12345678901234567890,"big2":1e16,"tiny":1e-7,"emptyd":{},"mixed":[1,"a",None,2.0,True]}

ATOMS = """i n f g s t u e l m d z b nested msgs missing mixed emptyd 1 0 -1 2.5 "a" "é" '' [1,2] {"a":1} none true (1,2) range(3)
d.a d.q l[0] s[1] nested.x msgs[0].content msgs[2].content d.items() big2""".split()
FILTERS = """upper lower length first last list string int float trim title capitalize sort reverse unique join join(",") tojson
tojson(indent=2) default("D") default("D",true) abs round round(1) sum max min items dictsort map("string") map("upper")
select reject("none") replace("l","L") indent batch(2) e safe wordcount map(attribute="k") selectattr("role") count
center(9) truncate(5)""".split()
OPERATORS = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">", "<=", ">=", "in", "not in", "and", "or"]
TESTS = ["defined", "none", "string", "mapping", "number", "integer", "iterable", "sequence", "odd", "true", "boolean",
         "callable", "upper", "in l", "eq 1", "gt 0", "sameas none", "divisibleby 2"]  # fmt: skip
METHODS = """.upper() .split() .strip() .items() .keys() .get("a") .title() .startswith("H") [0] [-1] .a ["a"] .x .count("a")
.isdigit() .replace("a","b") .split("l") .index("a")""".split()
SPACES = ["\n", "  ", "\t", "\n\n", " x ", "{% if b %}", "{%- if b %}", "{% if b -%}", "{%+ if b %}", "{% endif %}", "{%- endif -%}",
          "{{ i }}", "{{- i -}}", "{# c #}", "{#- c -#}", "{% set q = 1 %}", "{% set q = 1 -%}", "a", "\r\n", "{% for x in l %}",
          "{% endfor %}", "{%- endfor %}", "{%- for x in l -%}"]  # fmt: skip


def expression(rng, depth=0):
    r = rng.random()
    inner = lambda: expression(rng, depth + 1)
    if depth > 3 or r < 0.3:
        return rng.choice(ATOMS)
    if r < 0.45:
        return inner() + rng.choice(METHODS)
    if r < 0.62:
        return f"{inner()}|{rng.choice(FILTERS)}"
    if r < 0.82:
        return f"({inner()} {rng.choice(OPERATORS)} {inner()})"
    if r < 0.9:
        return f"({inner()} is {rng.choice(['', 'not '])}{rng.choice(TESTS)})"
    if r < 0.95:
        return f"({inner()} if {inner()} else {inner()})"
    if r < 0.97:
        return f"[{inner()}, {inner()}]"
    return f"not {inner()}"


def expressions(rng):
    lines = (pathlib.Path(__file__).parent / "expressions.txt").read_text(encoding="utf-8").split("\n")[:-1]
    yield from lines
    for _ in range(200):  # tags over several lines
        n = rng.randint(2, 4)
        at = rng.randrange(len(lines) - n)
        yield "\n".join(lines[at : at + n])
    for _ in range(2500):
        yield "{{ " + expression(rng) + " }}"
    for _ in range(1200):
        yield "".join(rng.choice(SPACES) for _ in range(rng.randint(3, 14)))
