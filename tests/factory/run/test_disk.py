"""A disk that refuses from any moment on: an error in words, nothing torn, and the next run works.

The limit on the size of files stands in for a full disk: it holds for root as well.
"""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator

import pytest

from shared.errors import LlmchError
from shared.events.events import Event, Noted, StageStarted, UsageCounted, Warned
from shared.llm.model_client import Request
from tests.fakes import proposal
from tests.harness import Factory, fingerprint, git, order

SHARES = 4  # of the moments, so that they can be tried side by side


def mends(request: Request) -> str:
    """Give what fails, and after that failure what passes: also where replies are on record."""
    text = "hello" if "earlier replies" in request.prompt else "bad"
    return proposal({"hello.txt": f"{text}\n"})(request)


REPLIES = [mends, mends]
ORDER = order(acceptance_commands=["grep -q hello hello.txt"])


class Disk:
    """Takes nothing more once it is full."""

    def __init__(self) -> None:
        self._soft, self._hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, self._hard))

    def free(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._soft, self._hard))


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.free()


def is_commit(event: Event) -> bool:
    return isinstance(event, StageStarted) and event.stage == "commit"


def moments_before_the_commit(factory: Factory) -> int:
    """Return how many things are told of a run before its commit is made."""
    factory.run(ORDER, REPLIES, branch="probe")
    shutil.rmtree(factory.repo / ".git/llmch")  # or the replies would be on record
    return next(index for index, event in enumerate(factory.events, 1) if is_commit(event))


@pytest.mark.rest
@pytest.mark.parametrize("share", range(SHARES))
def test_a_disk_that_is_full_from_some_moment_on(factory: Factory, disk: Disk, share: int) -> None:
    repo = factory.repo
    moments = moments_before_the_commit(factory)
    git(repo, "switch", "--quiet", "--create", "work")
    before, tip = fingerprint(repo), factory.tip()
    for moment in range(1 + share, moments + 1, SHARES):

        def fill_at_the_moment(event: Event, moment: int = moment) -> None:
            if len(factory.events) == moment:
                disk.fill()

        factory.on_event = fill_at_the_moment
        with pytest.raises(LlmchError, match=r"File too large|git .* failed|cannot write"):
            factory.run(ORDER, REPLIES)
        disk.free()
        assert list(factory.workspaces.glob("*")) == []
        assert not (repo / ".git/worktrees").exists()
        assert git(repo, "status", "--porcelain") == ""
        assert (fingerprint(repo), factory.tip()) == (before, tip)
    factory.on_event = None
    assert factory.run(ORDER, REPLIES).verdict == "PASS"


def test_a_disk_that_is_full_after_landing_leaves_the_commit(factory: Factory, disk: Disk) -> None:
    """The summary is what can no longer be written; the branch says what is true."""
    git(factory.repo, "switch", "--quiet", "--create", "work")
    tip = factory.tip()

    def fill_when_landed(event: Event) -> None:
        if isinstance(event, UsageCounted):
            disk.fill()

    factory.on_event = fill_when_landed
    with pytest.raises(LlmchError):
        factory.run(ORDER, REPLIES)
    disk.free()
    assert git(factory.repo, "rev-parse", "work^") == tip
    assert git(factory.repo, "status", "--porcelain") == ""
    assert (factory.repo / "hello.txt").read_text() == "hello\n"
    assert list(factory.workspaces.glob("*")) == []


def test_old_records_on_a_full_disk_do_not_keep_from_a_new_run(
    factory: Factory, disk: Disk
) -> None:
    def fill_when_landed(event: Event) -> None:
        if isinstance(event, UsageCounted):
            disk.fill()

    factory.on_event = fill_when_landed
    with pytest.raises(LlmchError):
        factory.run(ORDER, REPLIES, branch="work")
    disk.free()
    said: list[str] = []

    def fill_while_the_last_run_is_ended(event: Event) -> None:
        match event:
            case Noted(text) if "was cut off" in text:
                disk.fill()
            case Warned(text):
                disk.free()
                said.append(text)
            case _:
                pass

    factory.on_event = fill_while_the_last_run_is_ended
    factory.run(ORDER, REPLIES, branch="work")
    assert "has no end on record: cannot write" in said[0]
