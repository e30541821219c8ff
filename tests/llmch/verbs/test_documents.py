"""What verbs answer can be rendered in a format that llmch does not have yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from llmch.console import Console, Format, Verbosity, open_console
from llmch.console.console import Color
from llmch.console.document import (
    AlreadyShown,
    Block,
    Conclusion,
    Definition,
    Document,
    Link,
    Paragraph,
    Patch,
    Problem,
    Remark,
    Rows,
    Section,
    Verbatim,
)
from llmch.entry.boundary import answer
from shared.errors import ShownFinding
from tests.harness import manifest, write_plan, writing
from tests.llmch.command_line import model_server, plan_reply, write_reply
from tests.planner.plans import creating, order, plan


def markdown(document: Document) -> str:
    """Render any document as Markdown: all that a new format needs."""
    return "\n".join(_markdown(document.blocks()))


def _markdown(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Paragraph(lines) | Remark(lines):
                yield from lines
            case Link(words, url):
                yield f"{words} <{url}>"
            case Rows(rows, headings):
                yield from (f"| {' | '.join(row)} |" for row in (headings, *rows))
            case Patch(text):
                yield f"```diff\n{text}```"
            case Verbatim(text, language):
                yield f"```{language}\n{text}```"
            case Definition(term, lines, aside):
                yield f"**{term}** ({aside})"
                yield from lines
            case Section():
                yield f"### {block.name} {block.title}"
                yield from (f"- {each.text}" for each in block.items)
            case ShownFinding():
                yield f"- **{block.code}** {block.work_order}: {block.message}"
            case Conclusion(who, text, ok):
                yield f"## {who} {'passed' if ok else 'failed'}: {text}"
            case Problem(message, hint):
                yield f"> {message}: {hint}"
            case AlreadyShown(inner):
                yield from _markdown(inner)


@pytest.fixture
def console() -> Iterator[Console]:
    with open_console(
        verbosity=Verbosity.QUIET, color=Color.NEVER, output=Format.JSON, stdout=None, stderr=None,
        environ={},
    ) as console:  # fmt: skip
        yield console


Render = Callable[..., str]


@pytest.fixture
def render(console: Console, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> Render:
    """Runs a verb from `cwd` and returns its answer as Markdown."""
    monkeypatch.chdir(cwd)

    def run(*arguments: str | Path) -> str:
        return markdown(answer([str(each) for each in arguments], console).document)

    return run


@pytest.fixture
def workdir(cwd: Path) -> Path:
    return write_plan(cwd.parent / "plan", manifest([writing("1.txt", 1), writing("2.txt", 2)]))


def test_a_plan_shows_its_verdict_and_its_cost(
    render: Render, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd / "spec.md").write_text("# Say hello\n")
    with model_server(monkeypatch, plan_reply(plan(creating(1, "hello.txt")))):
        text = render("plan", "--spec", "spec.md", "--no-review")
    assert "## plan passed: 1 order" in text
    assert "--max-cost" in text


def test_a_run_of_all_orders_shows_each(
    render: Render, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = write_reply({"1.txt": "text\n"}), write_reply({"stray.txt": "text\n"})
    with model_server(monkeypatch, *replies):
        text = render(
            *("run-all", "--repo", repo, "--workdir", workdir, "--sandbox", "off"),
            *("--reply-format", "json", "--max-attempts", "1"),
        )
    assert "| WO-01 | landed | 1 |" in text
    assert "| WO-02 | failed | 1 | write_scope_violation |" in text
    assert "## run-all failed: 2 orders on factory/" in text


def test_an_order_that_runs_alone_shows_how_it_ended(
    render: Render, repo: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, write_reply({"1.txt": "text\n"})):
        text = render(
            *("run", "--repo", repo, "--work-order", workdir / "WO-01.json"),
            *("--sandbox", "off", "--reply-format", "json"),
        )
    assert text.startswith("## WO-01 passed: ")


def test_a_check_shows_its_findings(render: Render, cwd: Path) -> None:
    write_plan(cwd / "bad", manifest([order(1, acceptance_commands=["echo a | cat"])]))
    text = render("check", "bad")
    assert "- **E" in text
    assert "## plan failed: 1 work order" in text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["explain"], "E101  "),
        (["explain", "E101"], "Remedy: "),
        (["demo", "--list"], "| hello | "),
        (["doctor"], "git version"),
    ],
)
def test_the_rest_is_text(render: Render, arguments: list[str], expected: str) -> None:
    assert expected in render(*arguments)
