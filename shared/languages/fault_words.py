"""Words the faults of planned code, so that one fault reads the same in every language."""

from __future__ import annotations

from shared.languages.capabilities.chain import Need
from shared.languages.capabilities.conformance import DOES_NOT_PARSE
from shared.rule_text import quoted


def stub_does_not_parse(path: str, reason: str, line: int = 0, excerpt: str = "") -> str:
    """Return the message of E201; `line` counts from 1 in the stub, and is 0 for all of it."""
    where = f" in line {line}, {quoted(excerpt)}" if line else ""
    return f"the stub of {quoted(path)} does not parse: {reason}{where}"


def file_does_not_parse(path: str, line: int = 0, excerpt: str = "", reason: str = "") -> str:
    """Return the sentence about a file with a fault of syntax, which is E206 for a test of a plan.

    `line` counts from 1, and is 0 where the whole file is meant.
    """
    if not line:
        return f"{path} {DOES_NOT_PARSE}."
    shown = f": `{excerpt}`" if excerpt else ""
    why = f" ({reason})" if reason else ""
    return f"{path} {DOES_NOT_PARSE} at line {line}{shown}{why}."


def stub_uses_undefined(path: str, name: str, line: int) -> str:
    """Return the message of E203."""
    return (
        f"the stub of {quoted(path)} uses {quoted(name)} in line {line}, "
        "which it neither imports nor defines"
    )


def stub_contradicts(path: str, name: str, line: int, source: str, before: str, after: str) -> str:
    """Return the message of E204; `source` declares `before`, and this order `after`."""
    return (
        f"{quoted(name)} in line {line} of the stub of {quoted(path)}: "
        f"{source} declares `{before}`, here it is `{after}`"
    )


def has_no_interface(path: str) -> str:
    """Return the message of W223."""
    return f"{quoted(path)} has no interface: commands that use it cannot be judged"


def code_cannot_be_judged(reason: str, option: str = "-c") -> str:
    """Return the message of E215 about the code of a command, which stands behind `option`."""
    return f"the code after `{option}` cannot be judged: {reason}"


def file_cannot_be_read(path: str, reason: str) -> str:
    """Return the message of W224."""
    return f"{quoted(path)} cannot be read: {reason}"


def not_defined(name: str, line: int, column: int) -> str:
    """Return the message of E216, with its place in the code."""
    return at_place(has_no_definition(name), line, column)


def has_no_definition(name: str) -> str:
    """Return the message of E216 without a place."""
    return f"{quoted(name)} is not defined"


def at_place(message: str, line: int, column: int, addition: str = "") -> str:
    """Return a checker's `message` with its place in the code, as E211 to E216 and W222 have it.

    `line` and `column` count from 1. The line is left out of code of one line, and of what stands
    in the first line. `addition` says where a name is declared, or by whom.
    """
    place = f"line {line}, column {column}" if line > 1 else f"column {column}"
    return f"{place}: {message}" + (f" ({addition})" if addition else "")


def declared_only_by(source: str) -> str:
    """Return the addition of E217, where only a later order declares a name."""
    return f"declared only by {source}"


def declared_by(source: str, path: str) -> str:
    """Return the addition that says which order declares a name in which file."""
    return f"declared by {source} in {path}"


def provided_later(verb: str, name: str, source: str, key: str = "") -> Need:
    """Return E217: only the later order `source` provides what a command imports, runs or names."""
    return Need("E217", key or name, f"{verb} {quoted(name)}, which only {source} provides")


def missing_module(name: str, remover: str = "") -> Need:
    """Return E210: a module of the project that nobody provides, or that `remover` removes."""
    why = f"{remover} removes" if remover else "no order provides and the repo does not have"
    return Need("E210", name, f"imports {quoted(name)}, a module of this project that {why}")


def missing_path(verb: str, path: str, remover: str = "") -> Need:
    """Return E241: a script or test file that does not exist by then, or that `remover` removes."""
    why = f"{remover} removes" if remover else "does not exist by then"
    return Need("E241", path, f"{verb} {quoted(path)}, which {why}")


def undeclared_package(verb: str, module: str, package: str) -> Need:
    """Return W221: the module of a package that nobody declares."""
    message = f"{verb} {quoted(module)}, a third-party module that the repo does not declare"
    return Need("W221", package, message)


def unprovided(verb: str, name: str) -> Need:
    """Return W101: the need of something that is perhaps provided where we cannot see it."""
    message = f"{verb} {quoted(name)}, which neither the repo nor an order up to here has"
    return Need("W101", name, message)
