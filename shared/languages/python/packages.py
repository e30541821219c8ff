"""Puts packages of Python behind the protocols: declared, prepared, and missed by commands.

Each method imports what it needs.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from shared.languages.capabilities.dependencies import ManifestFiles, Prepared, Workshop
from shared.languages.capabilities.failures import Installable, Lack

_MANIFESTS: Final = frozenset({
    "pyproject.toml", "setup.cfg", "setup.py",
    "uv.lock", "poetry.lock", "pdm.lock", "Pipfile", "Pipfile.lock",
})  # fmt: skip


class PythonFailures:
    """Implement `Failures` for modules and for plugins of pytest."""

    def find_lack(self, output: str, project: Installable) -> Lack | None:
        """Return the module, else the plugin of pytest, that is not installed."""
        from shared.languages.python.failures import find_lack

        return find_lack(output, project)

    def ways_to_program(self, program: str, *, is_command: bool) -> tuple[str, ...]:
        """Return nothing: environments have programs, and those are named in any case."""
        return ()


class PythonPackages:
    """Implement `Packages` for distributions of Python."""

    def declares(self, path: str) -> bool:
        """Return whether the file is a `pyproject.toml` or a list of requirements."""
        from shared.languages.python.requirements import declares_requirements

        return declares_requirements(path)

    def declared(self, text: str) -> frozenset[str]:
        """Return the normal names of the distributions that a file declares."""
        from shared.languages.python.requirements import required_names

        return required_names(text)

    def normal_name(self, name: str) -> str:
        """Return a distribution's name in its normal form."""
        from shared.languages.python.requirements import normal_name

        return normal_name(name)

    def provides(self, names: Collection[str], module: str) -> bool:
        """Return whether one of these distributions has the module, judged by its name."""
        from shared.languages.python.requirements import provides_module

        return provides_module(names, module)

    def not_installed(self, text: str, output: str) -> tuple[str, ...]:
        """Return the modules of declared distributions that Python did not find."""
        from shared.languages.python.requirements import modules_not_found

        return modules_not_found(text, output)


class PythonDependencies:
    """Implement `Dependencies` for distributions, which uv or pip install as wheels."""

    variables: Final = r"(PIP|UV)_\w+|REQUESTS_CA_BUNDLE"

    def is_manifest(self, path: str) -> bool:
        """Return whether the file declares distributions, locks them, or may be a list of them."""
        folder, _, name = path.rpartition("/")
        if name in _MANIFESTS:
            return True
        if not name.endswith(".txt"):
            return False
        listed = "requirements" in name or "constraints" in name
        return listed or folder.rpartition("/")[2] == "requirements"

    def prepare(self, files: ManifestFiles, workshop: Workshop) -> Prepared:
        """Return an environment that has what the tree declares, and pytest."""
        from shared.languages.python.dependencies.environment import prepare_python

        return prepare_python(files, workshop)
