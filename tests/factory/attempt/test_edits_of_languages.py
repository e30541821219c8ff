"""Parts of files in several languages go the whole way, and what they lose is seen."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from factory.orders.documents import Form, ReplyFormat, RunSummary
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.stages import Stage
from factory.proposal.edit_blocks import Change, render_changes
from factory.proposal.reply_formats import ProposedFile, render_files_reply
from tests.harness import Factory, blob, commit_all, order, stages

MODELS = ModelChoice((Rung("scripted"),), reply_format=ReplyFormat.EDITS)


@dataclass(frozen=True, slots=True)
class Source:
    """Hold a file with a public function of three lines and a class or type with a method.

    `function` and `method` are name, code before and code after. Without `public` in the first
    line of the function, other files cannot use it.
    """

    path: str
    text: str
    function: tuple[str, str, str]
    method: tuple[str, str, str]
    public: tuple[str, str]


_TS = """\
export function score(guess: string): number {
  return guess.length;
}

export class Game {
  play(guess: string): boolean {
    return guess === 'abc';
  }
}
"""
_JS = _TS.replace(": string", "").replace(": number", "").replace(": boolean", "")
_GO = """\
package game

func Score(guess string) int {
\treturn len(guess)
}

type Game struct{}

func (g *Game) Play(guess string) bool {
\treturn guess == "abc"
}
"""
_RUST = """\
pub fn score(guess: &str) -> usize {
    guess.len()
}

pub struct Game;

impl Game {
    pub fn play(&self, guess: &str) -> bool {
        guess == "abc"
    }
}
"""


def _source(
    path: str, text: str, names: tuple[str, str], *parts: str, public: tuple[str, str]
) -> Source:
    """Return a source; `parts` are the lines of function and method that change, with the new."""
    lines = text.splitlines(keepends=True)

    def part(name: str, old: str, new: str) -> tuple[str, str, str]:
        at = next(index for index, line in enumerate(lines) if old in line)
        code = "".join(lines[at - 1 : at + 2])
        return name, code, code.replace(old, new)

    function, method = part(names[0], *parts[:2]), part(names[1], *parts[2:])
    first = function[1].split("\n")[0]
    return Source(path, text, function, method, (first, first.replace(*public)))


SOURCES = [
    _source("game.ts", _TS, ("score", "Game.play"), "guess.length", "2", "guess === 'abc'", "true",
            public=("export function", "function")),
    _source("game.js", _JS, ("score", "Game.play"), "guess.length", "2", "guess === 'abc'", "true",
            public=("export function", "function")),
    _source("game.go", _GO, ("Score", "(*Game).Play"), "len(guess)", "2", 'guess == "abc"', "true",
            public=("Score", "score")),
    _source("src/game.rs", _RUST, ("score", "Game::play"), "guess.len()", "2", 'guess == "abc"',
            "true", public=("score", "points")),
]  # fmt: skip
every = pytest.mark.parametrize("source", SOURCES, ids=lambda each: each.path)


def run(factory: Factory, source: Source, *blocks: ProposedFile) -> RunSummary:
    commit_all(factory.repo, {source.path: source.text})
    document = order(allowed_files=[source.path], acceptance_commands=["true"])
    reply = render_files_reply("Change it.", blocks)
    return factory.run(document, [reply] * 3, max_attempts=1, models=MODELS)


@pytest.mark.rest
@every
def test_definitions_are_replaced_by_their_names(factory: Factory, source: Source) -> None:
    blocks = [
        ProposedFile(source.path, new, Form.DEFINITION, name)
        for name, _, new in (source.function, source.method)
    ]
    assert stages(run(factory, source, *blocks)) == [""]
    expected = source.text.replace(*source.function[1:]).replace(*source.method[1:])
    assert blob(factory.repo, "work", source.path) == expected.encode()


@every
def test_lines_are_replaced_where_they_are_found(factory: Factory, source: Source) -> None:
    changes = [Change(old, new) for _, old, new in (source.function, source.method)]
    block = ProposedFile(source.path, render_changes(changes), Form.SEARCH)
    assert stages(run(factory, source, block)) == [""]
    expected = source.text.replace(*source.function[1:]).replace(*source.method[1:])
    assert blob(factory.repo, "work", source.path) == expected.encode()


@every
def test_a_definition_that_is_nowhere_afterwards_is_asked_for_again(
    factory: Factory, source: Source
) -> None:
    block = ProposedFile(source.path, render_changes([Change(source.function[1], "")]), Form.SEARCH)
    assert stages(run(factory, source, block)) == [Stage.LLM_OUTPUT_INVALID]
    name = source.function[0]
    assert f"`{name}` is lost: keep it, or write the whole file" in factory.prompt(1)


@every
def test_a_whole_file_that_loses_a_public_name_does_not_land(
    factory: Factory, source: Source
) -> None:
    text = source.text.replace(*source.public)
    assert text != source.text
    summary = run(factory, source, ProposedFile(source.path, text))
    assert stages(summary) == [Stage.CONTRACT_VIOLATED]
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert f"`{source.function[0]}` is gone" in brief.primary_error_excerpt
