"""Registers Rust: what is known of it at once, and what does the work."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from shared.languages.capabilities import NESTED, Advice, Examples, Language, Outliner
from shared.languages.language_tools import LockedPackages, NamedManifests, ToolReports
from shared.languages.property_tests import MOST_INPUTS, TOO_MANY, ChanceMark
from shared.languages.read_commands import BuildToolCommands, Command, Weakness, program_words
from shared.languages.rust import (
    judge_rust,
    rust_commands,
    rust_conformance,
    rust_crates,
    rust_edits,
    rust_plans,
)


class RustCommands(BuildToolCommands):
    """Implement `CommandReader` for `cargo`."""

    programs = ("cargo", "rustc", "rustfmt")

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        words = program_words(command) if command.program == "cargo" else None
        return rust_commands.read_cargo_command(words).paths if words is not None else ()

    def makes_files(self, command: Command) -> bool:
        return command.program != "rustfmt" and rust_commands.makes_files(command.argv)

    def is_loaded_unasked(self, path: str) -> bool:
        """Return whether tests commonly share the file as a module: `tests/common/mod.rs`."""
        return path.endswith("/mod.rs") and "tests" in path.split("/")

    def steers(self, path: str, text: str = "") -> str:
        """Return how the file has cargo run other programs, or run before the tests are built."""
        folder, name = posixpath.split(path)
        if name == "build.rs":
            return "is run by cargo before it builds"
        of_cargo = name in ("config.toml", "config") and posixpath.basename(folder) == ".cargo"
        return "says which programs cargo runs" if of_cargo or name == "nextest.toml" else ""

    def weakness(self, command: Command) -> Weakness | None:
        words = program_words(command)
        return rust_plans.weakness_of_text(command.program, words) if words is not None else None


_CHANCE: Final = (
    ChanceMark(
        r"\bthread_rng\(|\brand::(?:random|rng)\b|\bfrom_(?:entropy|os_rng)\(|\bquickcheck!"
        r"|#\[quickcheck\]",
        "draws other inputs on each run: it has no seed",
    ),
    ChanceMark(rf"\b(?:with_cases\(|cases\s*:)\s*{MOST_INPUTS}", TOO_MANY),
)

RUST: Final = Language(
    Outliner("Rust", (".rs",), "rust"),
    contracted=(".rs",),
    commands=RustCommands(),
    plans=judge_rust,
    rehearsals=rust_commands,
    conformance=rust_conformance,
    edits=rust_edits,
    notes=rust_edits,
    packages=LockedPackages(
        "Cargo.toml",
        re.compile(r"no matching package named|attempting to make an HTTP request, but --offline"),
    ),
    dependencies=NamedManifests(
        names=frozenset({"Cargo.toml", "Cargo.lock"}),
        variables=r"(CARGO|RUSTUP)_\w+",
        installer=rust_crates,
    ),
    mutations=rust_edits,
    reports=ToolReports(lambda: rust_commands.TOOLS),
    advice=Advice("shared.languages.rust", ("Rust", "Cargo.toml", ".rs")),
    examples=Examples("shared.languages.rust"),
    chance=_CHANCE,
    telling=(
        ("Cargo.toml", r"^(?:edition|rust-version|members)\b.*"),
        (f"{NESTED}Cargo.toml", r"^name\b.*"),
    ),
)
