"""What is asked again before anything runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import FailureBrief, FileWrite, WriteProposal
from factory.orders.model_choice import PastAttempt
from factory.orders.stages import Stage
from factory.proposal.read_reply import DoubtKind, doubt_about
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import ShownFile
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes


def proposed(summary: str = "s", **files: str) -> WriteProposal:
    writes = tuple(
        FileWrite(path=path, base_sha256=EMPTY_SHA256, content=text) for path, text in files.items()
    )
    return WriteProposal(summary=summary, writes=writes)


def past(
    proposal: WriteProposal, stage: Stage = Stage.VERIFY_FAILED, number: int = 1
) -> PastAttempt:
    return PastAttempt(
        number, 0, proposal, FailureBrief(stage=stage, primary_error_excerpt="it failed")
    )


def shown(**files: str) -> tuple[ShownFile, ...]:
    return tuple(
        ShownFile(path, FileState(FileKind.FILE, sha256_bytes(text.encode())), text)
        for path, text in files.items()
    )


def kind(proposal: WriteProposal, *earlier: PastAttempt, **files: str) -> DoubtKind | None:
    doubt = doubt_about(proposal, shown(**files), earlier, ())
    return doubt.kind if doubt else None


def test_the_same_files_in_another_order_and_with_other_words_are_a_repetition() -> None:
    doubt = doubt_about(proposed("b", y="2", x="1"), (), [past(proposed("a", x="1", y="2"))], ())
    assert doubt is not None
    assert (doubt.kind, doubt.repeats) == (DoubtKind.REPEATED, 1)
    assert "attempt 1" in doubt.note


def test_other_files_are_none() -> None:
    assert kind(proposed(x="1"), past(proposed(x="1", y="2")), past(proposed(x="2"))) is None


def test_what_failed_by_its_hashes_or_the_disk_may_be_given_again() -> None:
    for stage in (Stage.STALE_CONTEXT, Stage.WRITE_FAILED):
        assert kind(proposed(x="1"), past(proposed(x="1"), stage)) is None


def test_a_repetition_names_the_attempt_that_was_judged() -> None:
    same = proposed(x="1")
    earlier = [past(same), past(same, Stage.REPEATED, 2)]
    doubt = doubt_about(same, (), earlier, ())
    assert doubt is not None
    assert doubt.repeats == 1


def test_files_as_they_are_change_nothing_and_a_new_empty_file_does() -> None:
    assert kind(proposed(x="1"), x="1") is DoubtKind.UNCHANGED
    assert kind(proposed(x="1", y=""), x="1") is None


def test_what_does_nothing_is_asked_for_in_the_words_of_the_finding() -> None:
    doubt = doubt_about(proposed(x="1"), (), (), ("The function f has no body.",))
    assert doubt is not None
    assert (doubt.kind, doubt.note) == (DoubtKind.HOLLOW, "The function f has no body.")


@given(st.dictionaries(st.sampled_from("abc"), st.text(max_size=3), min_size=1))
def test_a_proposal_repeats_exactly_itself(files: dict[str, str]) -> None:
    assert kind(proposed(**files), past(proposed(**files))) is DoubtKind.REPEATED
    assert kind(proposed(**files), past(proposed(**files, d=""))) is None
