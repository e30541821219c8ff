"""Registers JavaScript; defines its packages, failures and tools."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Final

from shared.languages.base import Language
from shared.languages.capabilities import Advice, Examples, Installable, Lack, Outlines
from shared.languages.ecmascript import exports, node_commands
from shared.languages.ecmascript.node_language import (
    EcmaConformance,
    EcmaEdits,
    EcmaNotes,
    EcmaPlans,
    NodeCommands,
)
from shared.languages.javascript import node_modules
from shared.languages.language_tools import NamedManifests, ToolReports

_MISSING = re.compile(r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w-][\w.-]*)")
_TABLES: Final = ("dependencies", "devDependencies", "optionalDependencies")
_MANIFESTS: Final = frozenset({
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml",
    "pnpm-workspace.yaml", "yarn.lock", "bun.lock", "bun.lockb",
})  # fmt: skip


class NodePackages:
    """Implement `Packages` for packages of Node."""

    def declares(self, path: str) -> bool:
        """Return whether the file is a `package.json`, in whatever folder."""
        return path.rpartition("/")[2] == "package.json"

    def declared(self, text: str) -> frozenset[str]:
        """Return the names of the packages that a `package.json` declares."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return frozenset()
        tables = [document.get(name) for name in _TABLES] if isinstance(document, dict) else []
        return frozenset(name for each in tables if isinstance(each, dict) for name in each)

    def normal_name(self, name: str) -> str:
        """Return the name as it is: a package has one spelling."""
        return name

    def provides(self, names: Collection[str], module: str) -> bool:
        """Return whether the package of that name is among `names`."""
        return module in names

    def not_installed(self, text: str, output: str) -> tuple[str, ...]:
        """Return the declared packages that Node did not find."""
        packages = self.declared(text)
        missed = missed_packages(output)
        return tuple(f"The Node package {each!r}" for each in missed if each in packages)


def missed_packages(output: str) -> tuple[str, ...]:
    """Return the packages that Node says it did not find, each once."""
    return tuple(dict.fromkeys(_MISSING.findall(output)))


_INSTALL: Final = (
    "install the packages in the checkout (`npm install`), whose node_modules commands then see, "
    "or pass --deps auto, which installs what the lock names"
)


class NodeFailures:
    """Implement `Failures` for packages of Node."""

    def find_lack(self, output: str, project: Installable) -> Lack | None:
        """Return the first declared package that Node did not find."""
        for package in missed_packages(output):
            if package in project.declared:
                return Lack(f"The Node package {package!r} is not installed.", (_INSTALL,))
        return None

    def ways_to_program(self, program: str, *, is_command: bool) -> tuple[str, ...]:
        """Return how a program of a package is run, or installed."""
        # npx looks into node_modules, which is not on the PATH.
        npx = f"write `npx {program}` if a package of the repo has it"
        return (npx if is_command else _INSTALL,)


class _JavaScriptNames:
    """Implement `PublicNames` for JavaScript."""

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return what the file exports; nothing of code that a tool has made small."""
        return () if path.endswith(".min.js") else exports.javascript_names(text)


_SUFFIXES: Final = (".js", ".mjs", ".cjs", ".jsx")

JAVASCRIPT: Final = Language(
    Outlines("JavaScript", _SUFFIXES, "javascript", _JavaScriptNames()),
    contracted=_SUFFIXES,
    commands=NodeCommands(),
    edits=EcmaEdits(_SUFFIXES),
    notes=EcmaNotes(),
    conformance=EcmaConformance(_SUFFIXES),
    plans=EcmaPlans("JavaScript", _SUFFIXES, reads_commands=True),
    packages=NodePackages(),
    dependencies=NamedManifests(
        names=_MANIFESTS,
        variables=r"(NPM|NPM_CONFIG|VOLTA|FNM|NVM)_\w+|NODE_EXTRA_CA_CERTS",
        installer=node_modules,
    ),
    failures=NodeFailures(),
    reports=ToolReports(lambda: node_commands.NODE_TOOLS),
    advice=Advice("shared.languages.javascript", ("JavaScript", "Node.js", "npm", ".js", ".mjs")),
    examples=Examples("shared.languages.javascript"),
)
