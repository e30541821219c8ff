"""Lists the files and programs of build tools that several questions are about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from shared.work_order.schemas import VERIFY_SCRIPT

# Toolchains, by the file that shows that the project is built with them.
PROGRAMS_BY_FILE: Final[Mapping[str, re.Pattern[str]]] = {
    program: re.compile(pattern)
    for programs, pattern in {
        "node npm npx pnpm yarn bun": r"package\.json",
        "cargo": r"Cargo\.toml",
        "go gofmt": r"go\.mod",
        "make": r"Makefile",
        "mvn": r"pom\.xml",
        "gradle": r"build\.gradle.*",
        "dotnet": r".*\.(?:csproj|sln)",
        "ruby bundle rake": r"Gemfile",
        "php composer": r"composer\.json",
        "cmake ctest": r"CMakeLists\.txt",
        "cc gcc g++ clang": r".*\.(?:c|cc|cpp|cxx)",
    }.items()
    for program in programs.split()
}

# These make files that no listing shows, as do some tools of languages (`makes_files`).
BUILDERS: Final = frozenset({"make", "cmake", "gcc", "cc", "g++", "clang"})
# Tools put files into these folders, and git ignores them, so a listing does not show them.
GENERATED_FOLDERS: Final = frozenset({"node_modules", "vendor", "target", "build", "dist", "venv"})

# Tools rewrite these files as a whole, from everything else in the repo.
LOCK_FILES: Final = frozenset(
    {
        "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "pdm.lock",
        "Pipfile.lock", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock",
        "requirements.lock",
    }
)  # fmt: skip

# A plan nearly always depends on these files, so they come first where the repo has them.
LANDMARKS: Final = (
    "scripts/verify.sh",
    "pyproject.toml",
    "README.md",
    "requirements.txt",
    "package.json",
    "Makefile",
    "go.mod",
    "Cargo.toml",
    "tsconfig.json",
    "pom.xml",
    "build.gradle",
)

PACKAGE_TOOLS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
"""The programs that run the scripts of a `package.json`."""

BRINGING: Final = ("pyproject.toml", "setup.cfg", "setup.py", VERIFY_SCRIPT)
"""The files of a project that may say which programs its installation brings."""
