"""`llmch do` beside a model that is asked for the change and its test at once, and its own time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.measure import Samples, run_child
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.run_one import IMPORTS, command_seconds
from benchmarks.setting import Bench, git
from benchmarks.start import llmch_command
from factory.orders.documents import WHOLE_UP_TO_LINES, Form
from factory.proposal.edit_blocks import Change, render_changes
from factory.proposal.reply_formats import ProposedFile, render_block
from shared.llm.budget import likely_tokens
from shared.work_order.parse_order import sha256_bytes
from tests.shared.llm.edge import chat_stream, response_stream
from tests.shared.llm.scripted_server import scripted_server

_PROMPT, _REPLIES = Aim(factor=1.3), Aim(factor=1.6)
_OWN_SECONDS: Final = Aim(factor=1, extra=1)
_VERIFY: Final = "python -m compileall -q ."
_CHANGE: Final = "Refuse a negative number of things in `price_1` with a ValueError that names it"
_TEST: Final = """import pytest

from shop import price_1


@pytest.mark.parametrize("number", [-1, -10])
def test_a_negative_number_is_refused_by_name(number: int) -> None:
    with pytest.raises(ValueError, match=str(number)):
        price_1(number)


def test_nothing_costs_nothing() -> None:
    assert price_1(0) == 0
"""
_FUNCTION: Final = '''

def price_{0}(number: int) -> int:
    """Return the price of so many things of kind {0}: the tenth of each ten is free."""
    free = number // 10
    return {0} * (number - free)
'''
_AFTER: Final = "    return 1 * (number - free)\n"
_BEFORE: Final = "    free = number // 10\n"
_GUARD: Final = (
    '    if number < 0:\n        raise ValueError(f"{number} is a negative number of things")\n'
)
_DIRECT: Final = """{change}

Make this change, with a test of it. In the end this runs: `{verify}`

{files}
Reply with {form}.
"""
_FORMS: Final = {
    True: "each file that you change or create: its path, then its whole text in a fenced block",
    False: (
        "the lines that change, as search texts with what takes their place, and whole new files, "
        "each in a fenced block with its path"
    ),
}


@dataclass(frozen=True, slots=True)
class _Case:
    """Hold a shop with a number of functions, of which one changes."""

    functions: int
    as_json: bool = False
    """Whether files are asked for in a JSON document, as of a server that enforces schemas."""

    @property
    def text(self) -> str:
        written = (_FUNCTION.format(each) for each in range(1, self.functions + 1))
        return '"""Prices of a shop, in whole cents."""\n' + "".join(written)

    @property
    def changed(self) -> str:
        return self.text.replace(_BEFORE, _GUARD + _BEFORE, 1)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def is_whole(self) -> bool:
        return self.lines <= WHOLE_UP_TO_LINES

    @property
    def name(self) -> str:
        return f"{self.lines} lines" + (", JSON" if self.as_json else "")

    def direct(self, files: Mapping[str, str]) -> str:
        """Return the prompt of somebody who asks for all at once and shows the same files."""
        shown = "\n".join(f"{path}:\n```\n{text}```\n" for path, text in files.items())
        form = _FORMS[self.is_whole]
        return _DIRECT.format(change=_CHANGE, verify=_VERIFY, files=shown, form=form)

    def change_reply(self) -> str:
        """Return the change as fenced blocks."""
        if self.is_whole:
            return render_block(ProposedFile("shop.py", self.changed))
        edit = render_changes([Change(_BEFORE + _AFTER, _GUARD + _BEFORE + _AFTER)])
        return render_block(ProposedFile("shop.py", edit, Form.SEARCH))

    def direct_reply(self) -> str:
        return self.change_reply() + "\n" + render_block(ProposedFile(_TEST_PATH, _TEST))

    def replies(self) -> tuple[str, str]:
        """Return what the planner and then the executor answer."""
        if not self.as_json:
            return _PLANNED, f"Summary: negative numbers are refused.\n\n{self.change_reply()}"
        base = sha256_bytes(self.text.encode())
        write = {"path": "shop.py", "base_sha256": base, "content": self.changed}
        return _PLANNED, json.dumps({"summary": "Negative numbers are refused.", "writes": [write]})


_TEST_PATH: Final = "tests/test_negative.py"
_PLANNED: Final = json.dumps(
    {
        "title": "Refuse a negative number of things",
        "notes": "",
        "allowed_files": ["shop.py"],
        "acceptance_files": [{"path": _TEST_PATH, "content": _TEST}],
        "acceptance_commands": [f"python -m pytest -q {_TEST_PATH}"],
    }
)


@dataclass(frozen=True, slots=True)
class _Done:
    prompts: tuple[str, ...]
    own_seconds: float


def measure_one_change(bench: Bench) -> Section:
    """Return prompts and replies beside direct ones, and what `do` takes by itself."""
    cases = [_Case(4), _Case(4, as_json=True), _Case(20), _Case(80)]
    runs: list[_Done] = []
    imports: list[float] = []
    for _ in range(bench.rounds(7)):
        runs.append(_run(bench, cases[0]))
        imports.append(run_child(bench.python("-c", IMPORTS), bench.environment).seconds)
    done = [runs[-1], *(_run(bench, each) for each in cases[1:])]
    rows = [row for case, each in zip(cases, done, strict=True) for row in _rows(case, each)]
    seconds = Samples.of(each.own_seconds for each in runs)
    own = timed(
        "start to end, without its commands",
        seconds,
        Samples.of(imports),
        IMPORTS,
        _OWN_SECONDS,
        unit="s",
    )
    return Section("llmch do: one change", (*rows, own))


def _rows(case: _Case, done: _Done) -> Iterator[Row]:
    planning, writing = done.prompts
    own = {"shop.py": case.text}
    replies = case.replies()
    for name, sent, direct, aim in (
        ("first prompt", planning, case.direct(own), _PROMPT),
        ("second prompt", writing, case.direct({**own, _TEST_PATH: _TEST}), _PROMPT),
        ("replies", "".join(replies), case.direct_reply(), _REPLIES),
    ):
        yield Row(
            name=f"{name}, a file of {case.name}",
            value=likely_tokens(len(sent.encode())),
            unit="tokens",
            floor=likely_tokens(len(direct.encode())),
            floor_name="asked at once",
            aim=aim,
            counted=True,
        )


def _run(bench: Bench, case: _Case) -> _Done:
    repo = bench.folder("repo") / "shop"
    repo.mkdir()
    (repo / "shop.py").write_text(case.text)
    (repo / "llmch.toml").write_text(f'verify = ["{_VERIFY}"]\n')
    git(repo, "init", "--quiet", "--initial-branch=main")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=Begin")
    planned, written = case.replies()
    with scripted_server(response_stream(planned), chat_stream(written)) as server:
        argv = [
            *llmch_command(bench), "do", _CHANGE, str(repo / "shop.py"), "--repo", str(repo),
            "--yes", "--json", "--sandbox", "off", "--artifacts-dir",
            str(bench.folder("artifacts")), *(("--reply-format", "json") if case.as_json else ()),
        ]  # fmt: skip
        done = run_child(argv, {**bench.environment, "OPENAI_BASE_URL": server.base_url})
        assert done.exit_code == 0, done.stdout.decode()
        prompts = tuple(_prompt(each.body) for each in server.received)
    return _Done(prompts, done.seconds - command_seconds(done))


def _prompt(body: Any) -> str:
    said = body.get("input") or body["messages"]
    return said if isinstance(said, str) else "".join(str(each["content"]) for each in said)
