"""Puts packages of Node behind the protocols: read out of a `package.json`, and prepared."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Final

from shared.languages.capabilities.dependencies import ManifestFiles, Prepared, Workshop

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


class NodeDependencies:
    """Implement `Dependencies` for what npm, pnpm and Yarn install, of both languages of Node."""

    variables: Final = r"(NPM|NPM_CONFIG|VOLTA|FNM|NVM)_\w+|NODE_EXTRA_CA_CERTS"

    def is_manifest(self, path: str) -> bool:
        """Return whether the file is a `package.json`, or a lock or list beside it."""
        return path.rpartition("/")[2] in _MANIFESTS

    def prepare(self, files: ManifestFiles, workshop: Workshop) -> Prepared:
        """Return every `node_modules` that the lock at the root comes to."""
        from shared.languages.javascript.dependencies.modules import prepare_node

        return prepare_node(files, workshop)


def missed_packages(output: str) -> tuple[str, ...]:
    """Return the packages that Node says it did not find, each once."""
    return tuple(dict.fromkeys(_MISSING.findall(output)))
