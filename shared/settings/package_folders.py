"""Lists folders of installed packages that git ignores, and the files that define their content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackageFolder:
    """Name a folder of installed packages and the patterns of files that describe its content.

    The files lie beside the folder, or above it for a part of a larger project. `manifests` name
    the wanted packages; they count only where there is no lock file, which names the versions that
    were chosen. A folder whose name is used for other things too, `vendor`, needs one of the files.
    """

    name: str
    locks: tuple[str, ...]
    manifests: tuple[str, ...]
    needs_files: bool = False


_NODE = (
    (
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "yarn.lock",
        "bun.lock",
        "bun.lockb",
    ),
    ("package.json",),
)
_PYTHON = (
    ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock*.toml", "requirements*.txt"),
    ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile"),
)

PACKAGE_FOLDERS = (
    PackageFolder("node_modules", *_NODE),
    PackageFolder(".venv", *_PYTHON),
    PackageFolder("venv", *_PYTHON),
    PackageFolder("__pypackages__", *_PYTHON),
    PackageFolder(
        "vendor",
        ("go.sum", "composer.lock", "Gemfile.lock"),
        ("go.mod", "composer.json", "Gemfile"),
        needs_files=True,
    ),
)
