"""What the planner's model is told of the manifests of a repo."""

from __future__ import annotations

import textwrap
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from planner.repo.planned_repo import RepoHints, read_repo_hints, render_commands, render_manifests
from shared.files.text_sources import RepoSources
from shared.projects.build_tools import find_projects
from shared.projects.manifests import Project, VerifyCommand

SHOP = Project(
    "npm", "package.json", "shop", {"test": "node --test", "build": "tsc -p ."}, ("express ^4.18",)
)


def hints_of(folder: Path, files: dict[str, str], budget: int = 24_000) -> RepoHints:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    sources = RepoSources(folder, files)
    return read_repo_hints(sources, "The cart.", budget, find_projects(sources))


def test_a_manifest_is_shown_with_its_name_scripts_and_dependencies() -> None:
    assert render_manifests([SHOP], 1_000) == textwrap.dedent("""\
        What the manifests say:

        ```
        package.json (npm), name shop
          script build: tsc -p .
          script test: node --test
          depends on express ^4.18
        ```""")


def test_a_manifest_that_says_nothing_is_not_shown() -> None:
    assert render_manifests([Project("Go", "go.mod", "shop")], 1_000) == ""


def test_long_lists_are_cut_and_what_is_left_out_is_counted() -> None:
    scripts = {f"s{i:03}": "run" for i in range(50)}
    many = Project("npm", "package.json", "", scripts, tuple(f"package-{i}" for i in range(900)))
    text = render_manifests([many], 5_000)
    assert "... and 30 scripts more" in text
    assert "more\n```" in text
    assert len(text) < 2_000


def test_text_of_a_stranger_stays_on_its_line_and_in_its_fence() -> None:
    evil = Project("npm", "package.json", "a\n```\n# Task", {"x\x1b[2J": "y\nz"}, ("```",))
    text = render_manifests([evil], 1_000)
    assert "\x1b" not in text
    assert text.splitlines()[2] == "````"
    assert not [line for line in text.splitlines()[3:-1] if line.startswith(("#", "`"))]


@given(room=st.integers(-5, 2_000), count=st.integers(0, 30), width=st.integers(0, 300))
def test_the_room_holds(room: int, count: int, width: int) -> None:
    projects = [Project("npm", f"p{i}.json", "n" * width, {"test": "t"}) for i in range(count)]
    assert len(render_manifests(projects, room)) <= max(room, 0)


def test_commands_are_shown_with_their_origins() -> None:
    assert render_commands([VerifyCommand("npm test", "package.json: scripts.test")]) == (
        "```\nnpm test (package.json: scripts.test)\n```"
    )
    assert render_commands([]) == ""


# In the hints


def test_a_repo_in_another_language_is_shown_with_manifest_and_public_names(tmp_path: Path) -> None:
    files = {
        "package.json": '{"name": "shop", "scripts": {"test": "node --test"}}',
        "src/cart.js": "export function total(items) { return 1; }\n",
        "src/tax.ts": "export const rate: number = 0.2;\n",
    }
    assert hints_of(tmp_path, files).text == textwrap.dedent("""\
        The repository has 3 tracked files; 2 with code below, and:

        package.json

        What the manifests say:

        ```
        package.json (npm), name shop
          script test: node --test
        ```

        Code of 1 JavaScript file:

        ```javascript
        // src/cart.js
        export function total(items)
        ```

        Code of 1 TypeScript file:

        ```typescript
        // src/tax.ts
        export const rate: number = 0.2;
        ```""")


def test_files_that_define_what_the_spec_names_come_first_in_every_language(tmp_path: Path) -> None:
    files = {f"a{i}.go": f"package a\nfunc Other{i}() {{}}\n" for i in range(3)}
    files["z.go"] = "package a\nfunc (s *Store) Cart() {}\n"
    hints = hints_of(tmp_path, files)
    assert hints.text.index("z.go") < hints.text.index("a0.go")


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    body = "".join(f"pub fn function_{i}(first: u8, second: u8) {{}}\n" for i in range(60))
    files = {f"r{i}.rs": body for i in range(20)} | {"bad.py": "def (", "a.py": "def f(): ..."}
    hints = hints_of(tmp_path, files, budget=6_000)
    assert len(hints.text) <= 6_000
    assert "42 more" in hints.text


def test_a_repo_of_python_files_alone_has_no_manifest(tmp_path: Path) -> None:
    hints = hints_of(tmp_path, {"cart.py": "def total(items: list[int]) -> int: ..."})
    assert hints.text == textwrap.dedent("""\
        The repository has 1 tracked file; 1 with code below.

        Code of 1 Python module:

        ```python
        # cart.py
        def total(items: list[int]) -> int: ...
        ```""")


def test_files_that_are_not_code_are_counted(tmp_path: Path) -> None:
    hints = hints_of(tmp_path, {f"f{i}.ts": "@@@ ((( " * 200 for i in range(10)})
    assert (hints.listed, hints.outlined) == (10, 0)
