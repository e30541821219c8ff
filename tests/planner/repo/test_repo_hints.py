"""What the model is told of a repo: the nearest first, within a budget, whatever the repo holds."""

import os
import random
import re
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planner.repo.planned_repo import RepoHints, read_repo_hints
from planner.repo.spec_words import path_score, read_corpus, read_spec_words
from shared.files.text_sources import RepoSources

AMPLE = 100_000


def repo_of(folder: Path, files: dict[str, str | bytes]) -> list[str]:
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(files)


def hints_of(
    folder: Path, files: dict[str, str | bytes], spec: str = "", budget: int = AMPLE
) -> RepoHints:
    return read_hints(folder, repo_of(folder, files), spec, budget)


def read_hints(folder: Path, tracked: list[str], spec: str, budget: int) -> RepoHints:
    return read_repo_hints(RepoSources(folder, tracked), spec, budget)


def listing_of(hints: RepoHints) -> list[str]:
    """Return the paths of the listing, and of the files below it."""
    first, *brief = hints.text.split("\n")
    if first == "Also there:":
        return [each.partition(": ")[0] for each in brief]
    head, _, rest = hints.text.partition(":\n\n")
    listed = rest.split("\n\n", 1)[0].splitlines() if "tracked file" in head else []
    if listed and (listed[0].startswith("```") or "\n\n" in head):
        listed = []
    return [*listed, *re.findall(r"^(?:#|//) (\S+\.\w+)$", hints.text, re.MULTILINE)]


# The text


def test_little_room_has_tests_and_names_and_no_sentences(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "shop.py": "def price(n):\n    return n\n",
        "till.py": "from shop import price\n\n\ndef pay(n):\n    return price(n)\n",
        "tests/test_shop.py": "def test_price():\n    pass\n\n\ndef test_none():\n    pass\n",
        ".gitignore": "x\n",
    }
    tracked = RepoSources(tmp_path, repo_of(tmp_path, files))
    hints = read_repo_hints(tracked, "The price in shop.py", 160, whole=("shop.py",))
    said = "Also there:\ntests/test_shop.py: test_price test_none\ntill.py: pay"
    assert (hints.text, hints.listed, hints.left_out) == (said, 2, 2)
    for budget in range(200):
        text = read_repo_hints(tracked, "The price in shop.py", budget).text
        assert len(text) <= budget
        assert all(line.partition(":")[0] in files for line in text.splitlines()[1:])


def test_a_small_repo_is_shown_whole(tmp_path: Path) -> None:
    grid = "WIDTH: int = 9\n\ndef carve(seed: int = 0) -> list[str]:\n    return []\n"
    hints = hints_of(
        tmp_path, {"README.md": "# Maze", "maze/__init__.py": "", "maze/grid.py": grid}
    )
    assert hints.text == textwrap.dedent("""\
        The repository has 3 tracked files; 1 with code below, and:

        README.md
        maze/__init__.py

        Code of 1 Python module:

        ```python
        # maze/grid.py
        WIDTH: int = 9
        def carve(seed: int = 0) -> list[str]
        ```""")
    assert (hints.listed, hints.left_out, hints.outlined) == (3, 0, 1)


def test_a_repo_without_files_says_so(tmp_path: Path) -> None:
    assert hints_of(tmp_path, {}).text == "The repository has no files yet."


def test_a_repo_without_python_has_a_listing_only(tmp_path: Path) -> None:
    hints = hints_of(tmp_path, {"main.go": "package main"})
    assert hints.text == "The repository has 1 tracked file:\n\nmain.go"


def test_files_near_to_the_words_of_the_spec_come_first(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = dict.fromkeys(
        ("a/b.txt", "billing/invoice.txt", "maze/solver.txt", "solvers/a.txt", "z.txt"), ""
    )
    hints = hints_of(tmp_path, files, spec="Solve mazes quickly.")
    assert listing_of(hints) == [
        "maze/solver.txt",
        "solvers/a.txt",
        "a/b.txt",
        "billing/invoice.txt",
        "z.txt",
    ]


def test_a_file_that_defines_what_the_spec_names_is_near(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "def other(): ...",
        "b.py": "class ScoreBoard:\n    def guesses(self): ...",
    }
    hints = hints_of(tmp_path, files, spec="The score board counts each guess.")
    assert listing_of(hints) == ["b.py", "a.py"]
    assert hints.text.index("# b.py") < hints.text.index("# a.py")


def test_a_module_without_public_names_is_not_missing(tmp_path: Path) -> None:
    hints = hints_of(tmp_path, {"a.py": "import os", "b.py": "def f(): ..."})
    assert hints.outlined == 1


def test_what_a_plan_depends_on_is_listed_before_all_else(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = dict.fromkeys(
        ("README.md", "maze.txt", "pyproject.toml", "scripts/verify.sh"), ""
    )
    hints = hints_of(tmp_path, files, spec="A maze.")
    assert listing_of(hints) == ["scripts/verify.sh", "pyproject.toml", "README.md", "maze.txt"]


def test_a_large_repo_is_cut_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    tracked = [f"docs/page_{i:04}.md" for i in range(900)]
    tracked += [f"lib/part_{i:04}.md" for i in range(100)]
    hints = read_hints(tmp_path, tracked, "The parts.", 2_000)
    assert hints.listed + hints.left_out == 1_000
    assert len(listing_of(hints)) == hints.listed < 100
    left = 100 - hints.listed
    assert hints.text.startswith(
        f"The repository has 1,000 tracked files. Listed are the {hints.listed} that seem nearest"
        f" to the specification; {hints.left_out} are left out (docs/ 900, lib/ {left}):\n\n"
        "lib/part_0000.md\n"
    )


def test_modules_that_are_not_shown_are_counted(tmp_path: Path) -> None:
    source = "\n".join(f"def function_{i}(first: int, second: str) -> None: ..." for i in range(30))
    files: dict[str, str | bytes] = {f"m{i}.py": source for i in range(20)}
    files["bad.py"] = "def ("
    hints = hints_of(tmp_path, files, budget=4_000)
    assert 2 <= hints.outlined <= 20
    assert f"Code of {hints.outlined} Python modules:" in hints.text


def test_a_large_module_is_cut_and_leaves_room_for_others(tmp_path: Path) -> None:
    large = "\n".join(f"def function_{i}() -> None: ..." for i in range(1_000))
    files: dict[str, str | bytes] = {"a.py": large, "b.py": "def small() -> None: ..."}
    hints = hints_of(tmp_path, files, budget=6_000)
    assert "function_0" in hints.text
    assert "function_999" not in hints.text
    assert "# b.py\ndef small() -> None: ..." in hints.text


def test_the_order_in_which_git_lists_makes_no_difference(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"{folder}/{name}.py": f"def {name}(): ..." for folder in "abc" for name in ("maze", "grid")
    }
    tracked = repo_of(tmp_path, files)
    first = read_hints(tmp_path, tracked, "A maze", AMPLE)
    for seed in range(5):
        random.Random(seed).shuffle(tracked)
        assert read_hints(tmp_path, tracked, "A maze", AMPLE) == first


def test_nothing_of_the_machine_is_told(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "def f(): ..."}
    one, other = tmp_path / "one", tmp_path / "other"
    assert hints_of(one, files) == hints_of(other, files)


paths = st.lists(
    st.text(st.sampled_from("ab/._-é\n\\*"), max_size=8)
    | st.sampled_from(["maze.py", "pkg/maze.py", "scripts/verify.sh", "README.md", "a" * 300]),
    max_size=30,
)


@example(tracked=["-"], spec="-/", budget=13)
@given(tracked=paths, spec=st.text(max_size=30), budget=st.integers(-5, 3_000))
def test_the_budget_holds_and_every_file_is_counted(
    tracked: list[str], spec: str, budget: int
) -> None:
    hints = read_hints(Path("/nonexistent"), tracked, spec, budget)
    assert len(hints.text) <= max(budget, 0)
    assert hints.listed + hints.left_out == len(set(tracked))
    if hints.listed:
        assert len(listing_of(hints)) == hints.listed
        assert not set(listing_of(hints)) - set(tracked)


@given(budget=st.integers(0, 4_000))
def test_the_budget_holds_with_outlines_too(budget: int) -> None:
    # The tests' own folder is a repo with real modules.
    root = Path(__file__).parents[3]
    tracked = [str(each.relative_to(root)) for each in sorted(root.glob("shared/*.py"))]
    hints = read_hints(root, tracked, "settings and paths", budget)
    assert len(hints.text) <= budget
    assert hints.outlined <= len(tracked)


# Hostile repos


@pytest.mark.parametrize(
    "name",
    ["a\nb.py", "a\x1b[2J.py", "a\udcff.py", "../a.py", "/etc/passwd", "a\\b.py", "", "a//b.py"],
)
def test_a_name_that_no_order_could_use_is_left_out(tmp_path: Path, name: str) -> None:
    hints = read_hints(tmp_path, [name, "ok.txt"], "", AMPLE)
    assert listing_of(hints) == ["ok.txt"]
    assert hints.left_out == 1


@pytest.mark.parametrize(
    "content",
    [
        b"caf\xe9 = 1",
        b"x = '\0'",
        b"def (",
        b"x" * 200_001,
        b"x = " + b"(" * 100_000,
        b"x = " + b"-" * 100_000 + b"1",
        b"x = " + b"1+" * 90_000 + b"1",
        b"x: " + b"a|" * 60_000 + b"b = 1",
    ],
    ids=["latin1", "nul", "syntax", "huge", "parentheses", "signs", "sum", "union"],
)
def test_a_module_that_cannot_be_outlined_does_not_keep_others_from_it(
    tmp_path: Path, content: bytes
) -> None:
    hints = hints_of(tmp_path, {"bad.py": content, "good.py": "def f() -> int: ..."})
    assert sorted(listing_of(hints)) == ["bad.py", "good.py"]
    assert "# good.py\ndef f() -> int: ..." in hints.text
    assert len(hints.text) < 600


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside, repo = tmp_path / "outside", tmp_path / "repo"
    repo_of(outside, {"secret.py": "def secret_of_the_user(): ..."})
    repo.mkdir()
    (repo / "file.py").symlink_to(outside / "secret.py")
    (repo / "folder").symlink_to(outside)
    (repo / "dangling.py").symlink_to("nowhere")
    (repo / "loop.py").symlink_to("loop.py")
    tracked = ["file.py", "folder/secret.py", "dangling.py", "loop.py", "../outside/secret.py"]
    hints = read_hints(repo, tracked, "secret", AMPLE)
    assert "secret_of_the_user" not in hints.text


def test_a_fifo_a_folder_and_a_missing_file_are_passed_over_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    hints = read_hints(tmp_path, ["pipe.py", "folder.py", "gone.py"], "", AMPLE)
    assert (hints.listed, hints.outlined) == (3, 0)


def test_deep_nesting_is_no_burden(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 1_000) + "/a.py"
    hints = read_hints(tmp_path, [deep], "", AMPLE)
    assert listing_of(hints) == [deep]


def test_a_fence_in_a_default_does_not_close_the_outlines(tmp_path: Path) -> None:
    hints = hints_of(tmp_path, {"a.py": "FENCE = '```'\ndef f(x='```'): ...\n"})
    assert hints.text.endswith("\n````"), hints.text
    assert "\n````python\n# a.py\n" in hints.text


def test_code_is_never_run(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\ndef f(): ...\n"
    assert "def f()" in hints_of(tmp_path, {"trap.py": trap, "__init__.py": trap}).text
    assert not (tmp_path / "ran").exists()


@pytest.mark.rest
def test_ten_times_the_files_take_about_ten_times_as_long(tmp_path: Path) -> None:
    words = ["maze", "order", "cart", "parser", "queue", "worker", "token", "view"]
    tracked = [
        f"{words[i % 8]}/{words[i // 8 % 8]}_{i % 250}/{words[i % 7]}_{i}.py" for i in range(20_000)
    ]
    source = "\n".join(
        f"def maze_{i}(a: int, b: str = 'x') -> dict[str, int]: ..." for i in range(40)
    )
    for path in tracked[::20]:  # a checkout of all would take longer than what is measured
        repo_of(tmp_path, {path: source})

    def seconds(files: list[str]) -> float:
        # The process's own time, for others may hold the machine; the best of three for the rest.
        def once() -> float:
            started = time.process_time()
            read_hints(tmp_path, files, "A maze with workers and a queue.", 24_000)
            return time.process_time() - started

        return min(once() for _ in range(3))

    hints = read_hints(tmp_path, tracked, "A maze with workers and a queue.", 24_000)
    assert seconds(tracked) < 40 * seconds(tracked[::10])
    assert hints.listed > 200


# Nearness


@pytest.mark.parametrize(
    ("path", "score"),
    [
        ("solver.py", 3),
        ("solve/solver.py", 3),
        ("solving/other.py", 1),
        ("maze_solver.py", 6),
        ("MazeSolver.java", 6),
        ("mazes/solver.py", 4),
        ("src/main/unrelated.py", 0),
    ],
)
def test_words_are_matched_by_their_stems(path: str, score: int) -> None:
    assert path_score(path, read_spec_words("It solves any maze")) == score


def test_common_words_and_names_bring_nothing_near() -> None:
    spec = read_spec_words("Use the test file, and run all tests with Python in src.")
    assert path_score("src/tests/test_with_the.py", spec) == 0


def test_words_of_other_scripts_count_too() -> None:
    assert path_score("größe/Ärger.py", read_spec_words("ÄRGER der GRÖSSE")) == 4


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("`Game.play` is slow", {"Game.play", "Game", "play"}),
        ("Game::play and Game#stop", {"Game.play", "Game.stop", "Game", "play", "stop"}),
        ("give it `__iter__`", {"__iter__"}),
        ("call _private_one(x)", {"_private_one"}),
        ("play() ends", {"play"}),
        ("the option --no-color", {"no_color", "noColor"}),
        ("readFile of an HTTPServer", {"readFile", "HTTPServer"}),
        ("plain words of prose", set()),
    ],
)
def test_names_of_code_are_read_from_a_spec(spec: str, names: set[str]) -> None:
    assert read_spec_words(spec).names == names


@pytest.mark.parametrize("named", ["core/maze.py", "maze.py", "core.maze", "src/core/maze.py"])
def test_a_file_is_named_by_its_path_its_name_or_its_module(named: str) -> None:
    spec = read_spec_words(f"In {named}, walls are thin.")
    assert path_score("src/core/maze.py", spec) >= 10 > path_score("src/core/other.py", spec)


def test_a_name_that_few_definitions_have_is_nearer() -> None:
    corpus = read_corpus(read_spec_words("`play` and `open_door`"), ["", ""], ["play"] * 9)
    assert corpus.name_score("open_door") > corpus.name_score("play") > 3
    assert corpus.name_score("other") == 0


# What is shown of a definition


GAME = """\
class Game(Base):
    \"\"\"Plays.\"\"\"

    width: int = 9

    def __iter__(self):
        yield from self._cells()

    def _cells(self):
        return iter(())

    def stop(self, *, now: bool = False) -> None:
        pass


def _unexported(first,
                second):
    return [first, second]


def caller():
    return _unexported(1, 2)
"""


def padded(code: str) -> str:
    more = "\n\n".join(f"def filler_{i}(a: int) -> int:\n    return {i} + a" for i in range(300))
    return f"{code}\n\n{more}\n"


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (
            "Let `__iter__` of Game be faster.",
            "    def __iter__(self):\n        yield from self._c",
        ),
        ("The function _unexported is wrong.", "                second):\n    return [first, sec"),
        ("`Game.stop` has to wait.", "    def stop(self, *, now: bool = False) -> None:\n      "),
    ],
)
def test_what_the_spec_names_is_shown_with_its_code(tmp_path: Path, spec: str, shown: str) -> None:
    hints = hints_of(tmp_path, {"maze.py": padded(GAME)}, spec, 4_000)
    assert shown in hints.text
    assert "class Game(Base)" in hints.text or "_unexported" in spec


def test_what_a_named_definition_uses_and_what_uses_it_come_next(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"maze.py": padded(GAME), "other.py": padded("")}
    text = hints_of(tmp_path, files, "The function _unexported is wrong.", 3_000).text
    assert "def caller()" in text
    text = hints_of(tmp_path, files, "Let `__iter__` be faster.", 3_000).text
    assert "def _cells(self)" in text


def test_the_beginning_of_the_nearest_test_is_the_pattern(tmp_path: Path) -> None:
    test = "import maze\n\n\ndef test_play():\n    assert maze.play() == 1\n"
    files: dict[str, str | bytes] = {
        "tests/test_maze.py": test,
        "tests/conftest.py": "import pytest\n",
        "tests/test_other.py": "def test_other():\n    assert 1\n",
    }
    text = hints_of(tmp_path, files, "The maze.").text
    shown = f"(tests/test_maze.py, its beginning):\n\n```python\n{test}```"
    assert text.endswith(f"Tests here are written like this {shown}")
    assert "written like this" not in hints_of(tmp_path, {"maze.py": "x = 1\n"}).text


def test_a_named_file_that_fits_is_shown_whole(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"src/maze.py": GAME, "src/other.py": padded("")}
    assert GAME in hints_of(tmp_path, files, "Tidy src/maze.py.", 4_000).text


def test_a_named_file_without_a_definition_is_shown_whole(tmp_path: Path) -> None:
    code = "#[macro_export]\nmacro_rules! hashmap {\n    () => {\n        todo!()\n    };\n}\n"
    files: dict[str, str | bytes] = {"src/lib.rs": code, "src/other.rs": "pub fn other() {}\n"}
    assert code in hints_of(tmp_path, files, "Write the macro in src/lib.rs.", 4_000).text


@pytest.mark.parametrize(
    ("path", "code", "shown"),
    [
        ("a.go", "package a\n\ntype opts struct {\n\tdepth int\n}\n\n"
         "func (o *opts) walk() error {\n\treturn nil\n}\n",
         "type opts struct\n\tdepth int\nfunc (o *opts) walk() error"),
        ("a.rs", "enum Kind {\n    File,\n    Link(u8),\n}\n\nimpl Kind {\n"
         "    fn is_file(&self) -> bool {\n        true\n    }\n}\n",
         "enum Kind\n    File,\n    Link(u8),\n    fn is_file(&self) -> bool"),
        ("a.ts", "interface Shape {\n  area: number;\n}\n\nclass Box implements Shape {\n"
         "  area = 1;\n  #grow(by: { x: number }): void {\n  }\n}\n",
         "interface Shape\n  area: number;\nclass Box implements Shape\n  area = 1;\n"
         "  #grow(by: { x: number }): void"),
    ],
)  # fmt: skip
def test_unexported_names_of_other_languages_are_shown(
    tmp_path: Path, path: str, code: str, shown: str
) -> None:
    assert shown in hints_of(tmp_path, {path: code}).text


def test_a_table_of_the_nearest_test_is_named(tmp_path: Path) -> None:
    table = '@pytest.mark.parametrize("word", ["a"])\ndef test_{}(word):\n    assert word\n\n\n'
    twice = '@pytest.mark.parametrize("b", ["a"])\n' + table.format("both")
    plain = (
        "import pytest\nfrom shop import price\n\n\ndef test_plain():\n    assert price(1)\n\n\n"
    )
    files: dict[str, str | bytes] = {
        "shop.py": "def price(word):\n    return 1\n",
        "test_shop.py": plain + table.format("price") + twice,
    }
    line = 'test_shop.py: "append" may be cases alone, with "table": one of test_price'
    for room in (100, 8_000):
        shown = hints_of(tmp_path, files, "Change the price in shop.py", room).text
        assert [each for each in shown.splitlines() if "cases alone" in each] == [line]
    without = {**files, "test_shop.py": plain + twice}
    assert "cases alone" not in hints_of(tmp_path, without, "Change the price in shop.py").text
