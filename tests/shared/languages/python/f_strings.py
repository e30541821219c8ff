"""Random code with f-strings: good, broken, and good for newer Pythons alone."""

from __future__ import annotations

import random

_QUOTES = ("'", '"', "'''", '"""')
_TEXTS = (
    *("", "", "", "", "a", " ", "{{", "}}", "}", "N", "é", "#", ":", "!", "=", "\n", "\\\n"),
    *("\\n", "\\N{DIGIT ONE}", "\\\\", "\\{", "\\'", '\\"', "'", '"', "\\x41"),
)
_OPERATORS = ("<", ">", "==", "!=", "<=", ">=", "+", "|")


def f_strings(chance: random.Random, count: int) -> list[str]:
    """Return so many pieces of code, the same for the same state of `chance`."""
    return [_statement(chance) for _ in range(count)]


def _statement(chance: random.Random) -> str:
    string = _string(chance, chance.randrange(1, 4))
    return chance.choice(["x = {}", "print({})", "{}", "assert {}", "if{}: pass"]).replace(
        "{}", string, 1
    )


def _string(chance: random.Random, depth: int) -> str:
    quotes = chance.choice(_QUOTES)
    prefix = chance.choice(["f", "f", "f", "F", "rf", "fR", "", "b", "r"])
    parts = [_text(chance), _field(chance, depth), _text(chance)]
    body = "".join(parts) if "f" in prefix.lower() else chance.choice(["a", "", "{", "#", "\\n"])
    return f"{prefix}{quotes}{body}{quotes}"


def _text(chance: random.Random) -> str:
    return "".join(chance.choices(_TEXTS, k=chance.randrange(3)))


def _field(chance: random.Random, depth: int) -> str:
    before = chance.choice(["", "", "", " ", "\n"])
    after = chance.choice(["", "", "", "", " ", " #c\n", "\n", "\\\n"])
    shown = chance.choice(["=", "= "]) if chance.random() < 0.1 else ""
    conversion = chance.choice(["!r", "!s", "!a", "!r ", "! r"]) if chance.random() < 0.2 else ""
    spec = f":{_spec(chance, depth - 1)}" if chance.random() < 0.35 else ""
    return "{" + before + _expression(chance, depth) + after + shown + conversion + spec + "}"


def _spec(chance: random.Random, depth: int) -> str:
    if depth <= 0:
        return chance.choice([">10", "", ".2f", "{{}}", "\\n", "!r", "'", '"'])
    return chance.choice([">", "", ":"]) + _field(chance, depth - 1) + chance.choice(["", "x"])


def _expression(chance: random.Random, depth: int) -> str:
    if depth <= 0 or chance.random() < 0.3:
        return chance.choice(["a", "b", "1", "a.b", "1.5", "é", "None"])
    one, other = _expression(chance, depth - 1), _expression(chance, depth - 1)
    compared = f"{one}{chance.choice(_OPERATORS)}{other}"
    return chance.choice(
        [
            *(f"{one}[{other}]", f"f({one}, {other})", compared, f"({compared})"),
            *(f"{{{one}: {other}}}", f"{{{one}}}", f"[{one} for a in {other}]", f"({one}\n)"),
            *(f"(lambda a: {one})", f"(a := {one})", f"{one} if {other} else 1", f"*{one}, 1"),
            *(_string(chance, depth - 1) for _ in range(4)),
        ]
    )
