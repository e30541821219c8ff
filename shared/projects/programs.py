"""Says which programs a project's files show that it is built with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

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

# These make files that no listing shows.
BUILDERS: Final = frozenset({"make", "cmake", "gcc", "cc", "g++", "clang", "cargo", "go", "npm"})
# Tools put files into these folders, and git ignores them, so a listing does not show them.
GENERATED_FOLDERS: Final = frozenset({"node_modules", "vendor", "target", "build", "dist", "venv"})
