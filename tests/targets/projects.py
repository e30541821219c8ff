"""Small projects in four languages, each with a dependency, and an order with several proposals.

Each lies in a repo as a person has it: a manifest and a lock, the dependency in a registry on this
machine (for TypeScript in `node_modules`), and no `scripts/verify.sh`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.factory.workbench.registries import cargo_registry, go_proxy, npm_registry
from tests.real_tools import NODE_TOOLS, add_real_rust, needs, needs_node_tools

Files = dict[str, str]


@dataclass(frozen=True, slots=True)
class Target:
    """Hold a repo's files, an order on it, and a right and several wrong proposals.

    The order adds a function to `source` and a test of it; `wrong` breaks what was there before.
    `verified_by` has the commands of the repo and the number of tests that pass in the end.
    """

    files: Files
    source: str
    test: tuple[str, str]
    acceptance: str
    right: str
    wrong: tuple[str, ...]
    verified_by: Mapping[str, int | None]
    folders: Mapping[str, Path] = field(default_factory=dict)
    """What is installed in the checkout and ignored by git, by its name there."""

    def work_order(self) -> dict[str, Any]:
        """Return the order as a planner's model writes it."""
        return {
            "id": "WO-01",
            "title": "Double a number",
            "intent": "Add a function that doubles a number, and a test of it.",
            "allowed_files": [self.source, self.test[0]],
            "forbidden": [],
            "context_files": [self.source],
            "preconditions": [{"kind": "file_exists", "path": self.source}],
            "postconditions": [{"kind": "file_exists", "path": self.test[0]}],
            "acceptance_commands": [self.acceptance],
        }

    def writing(self, source: str) -> Files:
        """Return the files of a proposal that has the source read so."""
        return {self.source: source, self.test[0]: self.test[1]}


Made = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[Target]]


def _node_test(name: str, path: str, value: str) -> str:
    return (
        "const test = require('node:test');\nconst assert = require('node:assert');\n"
        f"const calc = require('{path}');\n"
        f"test('{name}', () => assert.strictEqual(calc.{value}));\n"
    )


@contextmanager
def npm(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    source = (
        "const one = require('thing');\nexports.add = (a, b) => a + b;\n"
        "exports.next = (a) => exports.add(a, one);\n"
    )
    right = f"{source}exports.double = (a) => exports.add(a, a);\n"
    with npm_registry() as registry:
        monkeypatch.setenv("npm_config_registry", f"{registry.address}/")
        entry = registry.put("thing", "1.0.0", "module.exports = 1;\n")
        wanted = {"name": "calc", "version": "1.0.0", "dependencies": {"thing": "^1.0.0"}}
        packages = {"": wanted, "node_modules/thing": entry}
        lock = {"name": "calc", "lockfileVersion": 3, "packages": packages}
        files = {
            "package.json": json.dumps({**wanted, "scripts": {"test": "node --test"}}),
            "package-lock.json": json.dumps(lock),
            ".gitignore": "node_modules/\n",
            "calc.js": source,
            "test/add.test.js": _node_test("adds", "../calc.js", "add(1, 2), 3"),
            "test/next.test.js": _node_test("counts", "../calc.js", "next(1), 2"),
        }
        yield Target(
            files,
            source="calc.js",
            test=("test/double.test.js", _node_test("doubles", "../calc.js", "double(2), 4")),
            acceptance="node --test test/double.test.js",
            right=right,
            wrong=(right.replace("one);", "2);"),),
            verified_by={"npm test": 3},
        )


@contextmanager
def typescript(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    options = {"module": "nodenext", "outDir": "build", "rootDir": "src", "types": []}
    script = "tsc && node --test"
    manifest = json.loads((NODE_TOOLS.parent / "package.json").read_text())
    source = "export function add(a: number, b: number): number {\n  return a + b;\n}\n"
    right = f"{source}\nexport function double(a: number): number {{\n  return add(a, a);\n}}\n"
    yield Target(
        {
            "package.json": json.dumps({**manifest, "scripts": {"test": script}}),
            "package-lock.json": (NODE_TOOLS.parent / "package-lock.json").read_text(),
            "tsconfig.json": json.dumps({"compilerOptions": options, "include": ["src"]}),
            ".gitignore": "node_modules/\nbuild/\n",
            "src/calc.ts": source,
            "test/add.test.js": _node_test("adds", "../build/calc.js", "add(1, 2), 3"),
        },
        source="src/calc.ts",
        test=("test/double.test.js", _node_test("doubles", "../build/calc.js", "double(2), 4")),
        acceptance="bash -c 'npx tsc && node --test test/double.test.js'",
        right=right,
        wrong=(
            right.replace("a + b", "2 * a"),
            right.replace("add(a, a)", "`${add(a, a)}`"),
        ),
        verified_by={"npm test": 2},
        folders={"node_modules": NODE_TOOLS},
    )


def _go_test(name: str, call: str, value: int) -> str:
    return (
        f'package calc\n\nimport "testing"\n\nfunc {name}(t *testing.T) {{\n'
        f"\tif {call} != {value} {{\n\t\tt.Fatal({call})\n\t}}\n}}\n"
    )


@contextmanager
def go(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    proxy = home / "proxy"
    sums = go_proxy(proxy, "example.com/lib", "v1.0.0", "package lib\n\nconst One = 1\n")
    for name, value in (("GOPROXY", f"file://{proxy}"), ("GONOSUMDB", "*"), ("GOSUMDB", "off")):
        monkeypatch.setenv(name, value)
    source = (
        'package calc\n\nimport "example.com/lib"\n\n'
        "func Add(a, b int) int { return a + b }\n\n"
        "func Next(a int) int { return Add(a, lib.One) }\n"
    )
    right = f"{source}\nfunc Double(a int) int {{ return Add(a, a) }}\n"
    yield Target(
        {
            "go.mod": "module example.org/calc\n\ngo 1.19\n\nrequire example.com/lib v1.0.0\n",
            "go.sum": sums,
            "calc.go": source,
            "calc_test.go": _go_test("TestNext", "Next(1)", 2),
        },
        source="calc.go",
        test=("double_test.go", _go_test("TestDouble", "Double(2)", 4)),
        acceptance="go test -v -run TestDouble ./...",
        right=right,
        wrong=(right.replace("lib.One", "2*lib.One"),),
        verified_by={"go build -o /dev/null ./...": None, "go test -vet=off ./...": 2},
    )


@contextmanager
def rust(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    monkeypatch.setenv("PATH", f"{add_real_rust(home)}:{os.environ['PATH']}")
    registry = home / "registry"
    entry = cargo_registry(registry, "thing", "1.0.0", "pub fn one() -> i32 {\n    1\n}\n")
    (home / ".cargo" / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "here"\n[source.here]\nlocal-registry = "{registry}"\n'
    )
    package = '[package]\nname = "calc"\nversion = "0.1.0"\n'
    own = package.replace("[package]", "[[package]]") + 'dependencies = [\n "thing",\n]\n\n'
    source = (
        "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n"
        "pub fn next(a: i32) -> i32 {\n    add(a, thing::one())\n}\n"
    )
    right = f"{source}\npub fn double(a: i32) -> i32 {{\n    add(a, a)\n}}\n"
    yield Target(
        {
            "Cargo.toml": f'{package}edition = "2021"\n\n[dependencies]\nthing = "1"\n',
            "Cargo.lock": f"version = 3\n\n{own}{entry}",
            ".gitignore": "target/\n",
            "src/lib.rs": source,
            "tests/next.rs": "#[test]\nfn counts() {\n    assert_eq!(calc::next(1), 2);\n}\n",
        },
        source="src/lib.rs",
        test=(
            "tests/double.rs",
            "#[test]\nfn doubles() {\n    assert_eq!(calc::double(2), 4);\n}\n",
        ),
        acceptance="cargo test --test double",
        right=right,
        wrong=(right.replace("thing::one()", "2 * thing::one()"),),
        verified_by={"cargo test": 2},
    )


MADE = [
    pytest.param(npm, id="npm", marks=needs("node", "npm")),
    pytest.param(typescript, id="typescript", marks=[needs("node", "npm"), needs_node_tools()]),
    pytest.param(go, id="go", marks=needs("go")),
    pytest.param(rust, id="rust", marks=needs("cargo", "rustc")),
]


def install(folder: Path, checkout: Path) -> None:
    """Have the checkout hold a folder of packages, by hard links where that is possible."""
    try:
        shutil.copytree(folder, checkout, symlinks=True, copy_function=os.link)
    except (shutil.Error, OSError):
        shutil.rmtree(checkout, ignore_errors=True)
        shutil.copytree(folder, checkout, symlinks=True)
