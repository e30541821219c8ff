"""Makes every Python of a command import the workspace's modules; it runs at each Python's start.

A copy of this file, with a call of `install` at its end, is the command's `sitecustomize`. So it
imports nothing of llmch and runs on Python 3.7 and later. It undoes the effects of `.pth` files:
entries and finders of editable installs may lead only to files that the command may see, and the
user's checkout is not among them. llmch's own packages are hidden from the target where they are
installed for the same interpreter.

It also resets the prefix of PYTHONPYCACHEPREFIX until something compiles on purpose. The prefix
keeps the bytecode of `compileall` out of the workspace. But with the prefix Python reads no
installed bytecode either, and each start of pytest would compile it anew, for a second.
"""

from __future__ import annotations

import os
import sys

# `importlib.machinery` and `importlib.util` export these too, but take milliseconds to import.
from _frozen_importlib import ModuleSpec, module_from_spec
from _frozen_importlib_external import PathFinder


class Demoted:
    """Wrap an editable install's finder: it comes after the path and finds visible files only."""

    def __init__(self, finder: object, visible: list[str]) -> None:
        self._finder = finder
        self._visible = visible

    def __getattr__(self, name: str) -> object:
        return getattr(self._finder, name)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the finder's answer, or None if it leads to a file that is not visible."""
        spec: ModuleSpec | None = self._finder.find_spec(name, path, target)  # type: ignore[attr-defined]
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
        if spec.has_location and spec.origin:
            places.append(spec.origin)
        return spec if all(inside(place, self._visible) for place in places) else None


class Foremost:
    """Look past llmch's own packages for what the target has under their names; asked first."""

    def __init__(self, own: dict[str, str]) -> None:
        self._own = own

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return None for every name except those of llmch's packages."""
        if name == "py_compile":  # `compileall` compiles with it
            sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX")
        folder = self._own.get(name)
        if folder is None or path is not None:
            return None
        spec = PathFinder.find_spec(name)
        if spec is None or not spec.origin or not inside(os.path.realpath(spec.origin), [folder]):
            return spec
        elsewhere = [place for place in sys.path if os.path.realpath(place + "/" + name) != folder]
        spec = PathFinder.find_spec(name, elsewhere)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec


def inside(place: str, roots: list[str]) -> bool:
    """Return whether `place` is one of `roots` or below one of them."""
    return any(place == root or place.startswith(root.rstrip("/") + "/") for root in roots)


def install(own: dict[str, str], roots: list[str], visible: list[str]) -> None:
    """Change how this interpreter imports, then run the `sitecustomize` that this file hides."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # pathlib is slow
    prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    home = os.environ.get("HOME", sys.prefix)  # it is private, and so is what is installed there
    visible = [*roots, *visible, home, *prefixes, *map(os.path.realpath, prefixes)]
    rest = (each for each in sys.path if each not in (here, *roots) and inside(each, visible))
    sys.path[:] = [*roots, *rest]  # PYTHONPATH cannot hold a path with a colon
    editable = [each for each in sys.meta_path if "editable" in getattr(each, "__module__", "")]
    others = [each for each in sys.meta_path if each not in editable]
    sys.meta_path[:] = [Foremost(own), *others, *(Demoted(each, visible) for each in editable)]
    sys.pycache_prefix = None
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)
