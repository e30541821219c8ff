"""Makes a folder in which cargo can judge a plan's tests before the code exists."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Final

from shared.languages.rust.crates import MANIFEST, Crate
from shared.languages.rust.planned import SUFFIX, PlannedRust, is_test_file
from shared.languages.rust.skeleton import values_of, write_file
from shared.languages.rust.source import read_rust

_EDITION: Final = "2021"


def build_view(planned: PlannedRust, position: int) -> dict[str, str]:
    """Return the texts by path that are there after an order, with contracts as empty code.

    Tests of the repository itself are left out, except for modules that tests share.
    """
    code, chain = planned.code, planned.chain
    view: dict[str, str] = {}
    for path in chain.listing:
        is_wanted = path.endswith(SUFFIX) or path.rpartition("/")[2] in (MANIFEST, "Cargo.lock")
        is_wanted = is_wanted and not chain.is_gone(path, position)
        text = chain.sources.get(path) if is_wanted else None
        if text is not None and not _is_own_test(path):
            view[path] = text
    contracts = code.states[position]
    values = values_of(contracts.values(), view, runs=False)
    for path, contract in contracts.items():
        view[path] = write_file(contract, view.get(path), values, empty_all=True)
    view |= code.texts(position)
    for crate in planned.crates:
        if crate.is_guessed:
            view.setdefault(crate.path(MANIFEST), _manifest(crate))
        _add_modules(view, crate, planned, position)
    return view


def _is_own_test(path: str) -> bool:
    """Return whether a file is a crate of tests by itself: `tests/words.rs`."""
    return is_test_file(path) and posixpath.basename(posixpath.dirname(path)) == "tests"


def _manifest(crate: Crate) -> str:
    return f'[package]\nname = "{crate.name}"\nversion = "0.0.0"\nedition = "{_EDITION}"\n'


def _add_modules(view: dict[str, str], crate: Crate, planned: PlannedRust, position: int) -> None:
    """Have the root of a crate name its modules, where nobody knows what the root will hold."""
    root = crate.path("src/lib.rs")
    unknown = root not in view or root in planned.code.open_paths(position)
    files = [each for each in _modules(view, crate) if each]
    if not unknown or (root not in view and not files):
        return
    named = {each.name for each in read_rust(view.get(root, "")).items}
    lines = [f"pub mod {each};" for each in files if each not in named]
    view[root] = "\n".join((view.get(root, ""), *lines)).lstrip("\n") + "\n"


def _modules(view: Mapping[str, str], crate: Crate) -> list[str]:
    """Return the names of the modules whose files stand beside the root of a crate."""
    source = crate.path("src")
    found: set[str] = set()
    for path in view:
        folder, name = posixpath.split(path)
        if folder == source and name.endswith(SUFFIX) and name not in ("lib.rs", "main.rs"):
            found.add(name.removesuffix(SUFFIX))
        elif name == "mod.rs" and posixpath.dirname(folder) == source:
            found.add(posixpath.basename(folder))
    return sorted(each for each in found if each.isidentifier())
