"""Makes a folder in which the Go compiler can judge a plan's tests before the code exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shared.languages.declared.planned import folder_of
from shared.languages.go.modules import MANIFEST
from shared.languages.go.planned import SUFFIX, PlannedGo, is_test_file
from shared.languages.go.skeleton import package_of_folder, write_file
from shared.languages.go.source import read_go

# The oldest Go that knows what today's tests use. A `go.mod` of the repository says it itself.
_LANGUAGE: Final = "1.21"


def build_view(planned: PlannedGo, position: int) -> dict[str, str]:
    """Return the texts by path that are there after an order, with contracts as empty code."""
    code, chain = planned.code, planned.chain
    view: dict[str, str] = {}
    for path in chain.listing:
        is_wanted = path.endswith(SUFFIX) or path.rpartition("/")[2] in (MANIFEST, "go.work")
        is_wanted = is_wanted and not chain.is_gone(path, position)
        text = chain.sources.get(path) if is_wanted else None
        if text is not None:
            view[path] = text
    packages = _packages(planned, position, view)
    for path, contract in code.states[position].items():
        package = packages.get(folder_of(path), "")
        view[path] = write_file(path, contract, view.get(path), package, empty_all=True)
    view |= code.texts(position)
    for module in planned.modules:
        manifest = f"{module.folder}/{MANIFEST}" if module.folder else MANIFEST
        view.setdefault(manifest, f"module {module.path}\n\ngo {_LANGUAGE}\n")
    if not any(path.rpartition("/")[2] == MANIFEST for path in view):
        view[MANIFEST] = f"module planned\n\ngo {_LANGUAGE}\n"
    return view


def _packages(planned: PlannedGo, position: int, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the name of the package of each folder that has a contract."""
    named: dict[str, str] = {}
    for path, text in sources.items():
        if path.endswith(SUFFIX):
            named.setdefault(folder_of(path), read_go(text).package)
    for path, contract in planned.code.states[position].items():
        if contract.package:
            named.setdefault(folder_of(path), contract.package)
    for path, text in planned.code.texts(position).items():
        if is_test_file(path):
            package = read_go(text).package
            named.setdefault(folder_of(path), package.removesuffix("_test"))
    for path in planned.code.states[position]:
        if not named.get(folder_of(path)):
            named[folder_of(path)] = package_of_folder(path)
    return named
