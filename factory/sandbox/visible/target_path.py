"""Runs at the start of every Python of a command: what is imported is the workspace's.

A copy of this file, with a call of `install` at its end, is the command's `sitecustomize`; so it
imports nothing of llmch and runs on Python 3.7 and later. It undoes what `.pth` files did:
entries and finders of editable installs may lead only to what the command may see, which leaves
out the user's checkout. And llmch's own packages, where they are installed for the same
interpreter, do not exist for the target.

It also takes PYTHONPYCACHEPREFIX back until something compiles on purpose: the prefix keeps the
bytecode of `compileall` out of the workspace, but with it no installed bytecode is read either,
and each start of pytest would compile it anew, for a second.
"""

from __future__ import annotations

import os
import sys

# What `importlib.machinery` and `importlib.util` export, without their milliseconds at each start.
from _frozen_importlib import ModuleSpec, module_from_spec
from _frozen_importlib_external import PathFinder


class Demoted:
    """An editable install's finder: asked after the path, believed about visible files only."""

    def __init__(self, finder: object, visible: list[str]) -> None:
        self._finder = finder
        self._visible = visible

    def __getattr__(self, name: str) -> object:
        return getattr(self._finder, name)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The finder's answer, unless it leads to a file that the command may not see."""
        spec: ModuleSpec | None = self._finder.find_spec(name, path, target)  # type: ignore[attr-defined]
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
        if spec.has_location and spec.origin:
            places.append(spec.origin)
        return spec if all(inside(place, self._visible) for place in places) else None


class Foremost:
    """Asked first: looks past llmch's own packages for what the target has under their names."""

    def __init__(self, own: dict[str, str]) -> None:
        self._own = own

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """None for every name but llmch's packages."""
        if name == "py_compile":  # what `compileall` compiles with
            sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX")
        folder = self._own.get(name)
        if folder is None or path is not None:
            return None
        spec = PathFinder.find_spec(name)
        if spec is None or not spec.origin or not inside(os.path.realpath(spec.origin), [folder]):
            return spec
        beside = [place for place in sys.path if os.path.realpath(place + "/" + name) != folder]
        spec = PathFinder.find_spec(name, beside)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec


def inside(place: str, roots: list[str]) -> bool:
    """Whether `place` is one of `roots` or below it."""
    return any(place == root or place.startswith(root.rstrip("/") + "/") for root in roots)


def install(own: dict[str, str], roots: list[str], visible: list[str]) -> None:
    """Apply to this interpreter, then run the `sitecustomize` that this one stands before."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # pathlib is slow
    prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    home = os.environ.get("HOME", sys.prefix)  # private, so what is installed there is its own
    visible = [*roots, *visible, home, *prefixes, *map(os.path.realpath, prefixes)]
    rest = (each for each in sys.path if each not in (here, *roots) and inside(each, visible))
    sys.path[:] = [*roots, *rest]  # by PYTHONPATH they come only where no path has a colon
    editable = [each for each in sys.meta_path if "editable" in getattr(each, "__module__", "")]
    others = [each for each in sys.meta_path if each not in editable]
    sys.meta_path[:] = [Foremost(own), *others, *(Demoted(each, visible) for each in editable)]
    sys.pycache_prefix = None
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)
