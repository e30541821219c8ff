"""Projects whose packages are prepared and compiled beforehand, by the real build tools."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import Ended, Policy
from factory.sandbox.runner import Sandbox
from factory.sandbox.toolchain_search import find_toolchains
from factory.workbench.judging_tools import Toolset
from shared.events.events import Event, Noted, Warned
from shared.languages.language_tools import Prepared
from shared.settings.settings import SandboxBackend
from tests.factory.workbench.registries import cargo_registry, go_proxy
from tests.factory.workbench.test_installers import cargo_lock, prepared


@dataclass
class Project:
    """A tree whose packages are prepared, and the sandboxes that its commands get."""

    root: Path
    found: Prepared
    toolset: Toolset = field(default_factory=Toolset)
    backend: SandboxBackend = SandboxBackend.AUTO
    events: list[Event] = field(default_factory=list)

    def read_imports(self, *sources: str) -> None:
        self.toolset = self.toolset.with_imports(sources, os.environ["PATH"], self.events.append)

    def policy(self, private: str) -> Policy:
        folder = self.root.parent / private
        folder.mkdir()
        machine = {"HOME": pwd.getpwuid(os.geteuid()).pw_dir, "PATH": os.environ["PATH"]}
        policy = Policy(
            self.root,
            None,
            folder,
            Path(sys.executable),
            read=self.found.read,
            environment=self.found.environment,
            toolchains=find_toolchains(folder, lambda _: None, machine),
        )
        return self.toolset.warm(policy, self.found.builds, self.backend, self.events.append)

    def sandbox(self, private: str) -> Sandbox:
        return open_sandbox(self.backend, self.policy(private))

    def run(self, sandbox: Sandbox, *argv: str) -> Ended:
        return sandbox.run(argv, timeout_seconds=300, log=self.root.parent / "log")

    def said(self, kind: type[Noted | Warned]) -> list[str]:
        return [each.message for each in self.events if isinstance(each, kind)]


def go_project(
    tree: Path, environ: Mapping[str, str], code: str, files: Mapping[str, str]
) -> Project:
    """Return a project in Go that requires the module `example.com/lib` with this code."""
    sums = go_proxy(tree.parent / "proxy", "example.com/lib", "v1.0.0", code)
    manifest = "module demo\n\ngo 1.21\n\nrequire example.com/lib v1.0.0\n"
    project = Project(tree, prepared(tree, {"go.mod": manifest, "go.sum": sums, **files}, environ))
    project.toolset = Toolset(go=Path(str(shutil.which("go"))))
    project.read_imports('import "testing"\n', *files.values())
    return project


def cargo_project(
    tree: Path,
    environ: Mapping[str, str],
    files: Mapping[str, str],
    build: str = "",
    code: str = "",
) -> Project:
    """Return a project in Rust that wants the crate `thing`, which may have a build script."""
    entry = cargo_registry(tree.parent / "registry", "thing", "1.0.0", code or THING, build)
    return Project(tree, prepared(tree, {**rust_files(entry), **files}, environ))


THING = 'pub fn answer() -> &\'static str { "an honest answer" }\n'
RUST = {
    "src/lib.rs": "pub fn f() -> &'static str { thing::answer() }\n#[test]\nfn says() "
    '{ println!("{}", f()) }\n'
}


def rust_files(entry: str) -> dict[str, str]:
    package = '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n'
    wanted = '[dependencies]\nthing = "1"\n'
    own = {"Cargo.toml": package + wanted, "Cargo.lock": cargo_lock(entry)}
    return {**own, ".gitignore": "/target\n", **RUST}
