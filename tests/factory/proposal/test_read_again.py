"""A reply with parts of files is read whole, or refused by block; an answer mends those blocks."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from factory.orders.documents import MAX_REPLY_CHARACTERS, Form, ReplyFormat
from factory.proposal.assemble_edits import (
    render_format,
    render_question,
    render_refusals,
)
from factory.proposal.edit_blocks import BlockRefusal, Change, SearchBlock, render_changes
from factory.proposal.read_reply import (
    BlocksRefused,
    ParsedReply,
    ProposalInvalid,
    parse_proposal,
    read_again,
)
from factory.proposal.reply_formats import ProposedFile, parse_files_reply, render_files_reply
from factory.proposal.scope import FileKind, FileState
from shared.llm.budget import estimate_tokens
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes

TEXT = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
PAGE = "# Title\n"
TEXTS = {"a.py": TEXT, "page.md": PAGE}
SHOWN = {
    path: FileState(FileKind.FILE, sha256_bytes(text.encode())) for path, text in TEXTS.items()
}
ALLOWED = ("a.py", "page.md", "new.py")


def search(path: str, *changes: tuple[str, str]) -> ProposedFile:
    content = render_changes([Change(*each) for each in changes])
    return ProposedFile(path, content, Form.SEARCH)


def definition(path: str, name: str, code: str) -> ProposedFile:
    return ProposedFile(path, code, Form.DEFINITION, name)


def reply(*blocks: ProposedFile) -> str:
    return render_files_reply("It is done.", blocks)


def read(text: str, asked: ReplyFormat = ReplyFormat.EDITS) -> ParsedReply:
    return parse_proposal(text, asked, SHOWN, ALLOWED, texts=TEXTS)


def refused(text: str) -> BlocksRefused:
    with pytest.raises(BlocksRefused) as caught:
        read(text)
    return caught.value


def again(first: BlocksRefused, text: str, allowed: Sequence[str] = ALLOWED) -> ParsedReply:
    return read_again(first, text, SHOWN, allowed, texts=TEXTS)


def written(parsed: ParsedReply) -> dict[str, str]:
    return {each.path: each.content for each in parsed.proposal.writes}


ONE = definition("a.py", "one", "def one():\n    return 10\n")
WRONG = search("page.md", ("# Titel\n", "# Name\n"))
RIGHT = search("page.md", ("# Title\n", "# Name\n"))
NEW = ProposedFile("new.py", "x = 1\n")
RESULT = {
    "a.py": TEXT.replace("return 1\n", "return 10\n"),
    "page.md": "# Name\n",
    "new.py": "x = 1\n",
}


@pytest.mark.parametrize("asked", tuple(ReplyFormat))
def test_parts_of_files_are_read_whichever_format_was_asked_for(asked: ReplyFormat) -> None:
    parsed = read(reply(ONE, RIGHT, NEW), asked)
    assert written(parsed) == RESULT
    assert [each.base_sha256 for each in parsed.proposal.writes] == [
        SHOWN["a.py"].sha256,
        SHOWN["page.md"].sha256,
        EMPTY_SHA256,
    ]
    assert parsed.proposal.summary == "It is done."
    came = ("the reply came in the format files",) if asked is ReplyFormat.JSON else ()
    assert parsed.repairs == came


def test_search_texts_under_a_plain_path_are_read_as_such() -> None:
    parsed = read(reply(ProposedFile("page.md", RIGHT.content)))
    assert written(parsed) == {"page.md": "# Name\n"}
    assert parsed.repairs == ("the block of page.md holds search texts, and was read as such",)


def test_all_blocks_apply_or_none_does_and_the_refusal_names_the_block() -> None:
    error = refused(reply(ONE, WRONG, NEW))
    assert [each.index for each in error.refusals] == [1]
    assert isinstance(error, ProposalInvalid)
    assert "1 of the 3 blocks" in str(error)
    assert "`# Titel`" in str(error)


def test_a_search_text_that_cannot_be_read_is_a_refused_block_too() -> None:
    broken = ProposedFile("page.md", "<<<<<<< SEARCH\n# Title\n", Form.SEARCH)
    error = refused(reply(ONE, broken))
    assert "never closed" in str(error)
    assert written(again(error, reply(RIGHT))) == {
        "a.py": RESULT["a.py"],
        "page.md": RESULT["page.md"],
    }


def test_an_answer_for_the_refused_block_alone_makes_the_reply_whole() -> None:
    parsed = again(refused(reply(ONE, WRONG, NEW)), reply(RIGHT))
    assert written(parsed) == RESULT
    assert parsed.proposal.summary == "It is done."
    assert parsed.repairs == ("1 of 3 blocks were asked for again",)


@pytest.mark.parametrize(
    "answer",
    [
        # A block that was kept may be repeated, or be written anew.
        reply(RIGHT, ONE, NEW),
        # The refused file may be given whole, and the block without its path.
        reply(ProposedFile("page.md", "# Name\n")),
        f"Sorry.\n\n```\n{RIGHT.content}```\n",
    ],
    ids=["repeated", "whole", "no path"],
)
def test_an_answer_may_say_more_or_say_it_otherwise(answer: str) -> None:
    assert written(again(refused(reply(ONE, WRONG, NEW)), answer)) == RESULT


def test_a_whole_file_takes_the_place_of_all_blocks_of_the_file() -> None:
    bad = definition("a.py", "two", "def three(): pass\n")
    parsed = again(refused(reply(ONE, bad)), reply(ProposedFile("a.py", "x = 1\n")))
    assert written(parsed) == {"a.py": "x = 1\n"}


def test_a_refused_block_without_an_answer_stays_refused() -> None:
    first = refused(reply(ONE, WRONG, search("a.py", ("nothing\n", ""))))
    with pytest.raises(BlocksRefused) as caught:
        again(first, reply(NEW))
    assert {each.block.path for each in caught.value.refusals} >= {"page.md"}
    # The second refusal can be asked for again like the first.
    assert len(caught.value.reply.blocks) > len(caught.value.refusals)


def test_a_block_for_a_file_that_is_not_allowed_may_be_dropped() -> None:
    first = refused(reply(ONE, search("other.py", ("x\n", "y\n"))))
    assert written(again(first, reply(NEW))) == {
        "a.py": RESULT["a.py"],
        "new.py": RESULT["new.py"],
    }


@pytest.mark.parametrize("answer", ["", "Sorry.", "```a.py\nx"])
def test_an_answer_without_blocks_is_invalid(answer: str) -> None:
    with pytest.raises(ProposalInvalid):
        again(refused(reply(WRONG)), answer)


def test_the_question_shows_the_nearest_lines_and_how_to_write_the_block() -> None:
    error = refused(reply(ONE, WRONG, NEW))
    question = render_question(error.refusals, len(error.reply.blocks))
    assert "Nearest to it, from line 1 of the file on:\n```\n# Title\n```" in question
    assert "The other blocks are kept: do not repeat them." in question
    assert "<<<<<<< SEARCH" in question
    assert "::" not in question


def test_the_question_and_the_refusal_are_bounded() -> None:
    block = SearchBlock("a.py", "x" * 10_000, "")
    nearest = f"{'y' * 200}\n" * 12
    refusals = [BlockRefusal(n, block, "z" * 10_000, nearest, 1) for n in range(200)]
    assert len(render_question(refusals, 200)) <= 8_000
    assert len(render_refusals(refusals, 200)) <= 8_000
    assert "and 194 more" in render_refusals(refusals, 200)


@pytest.mark.parametrize(
    "text",
    [
        "x" * (MAX_REPLY_CHARACTERS + 1),
        f"Done.\n{reply(RIGHT)}" * 200_000,
        "Done.\n" + reply(*[RIGHT] * 201),
    ],
    ids=["long", "ten megabytes of blocks", "many blocks"],
)
def test_a_reply_of_too_much_is_refused_quickly(text: str) -> None:
    started = time.process_time()
    with pytest.raises(ProposalInvalid, match="over the limit of"):
        read(text)
    assert time.process_time() - started < 5


def test_a_change_of_five_lines_in_1500_costs_at_most_300_tokens() -> None:
    body = [f"    value = value * {n} + offset  # step {n}\n" for n in range(1500)]
    text = "def compute(value, offset):\n" + "".join(body) + "    return value\n"
    changed = "".join(line.replace("* ", "// ") for line in body[700:705])
    cheap = reply(search("big.py", ("".join(body[700:705]), changed)))
    parsed = parse_proposal(cheap, ReplyFormat.EDITS, {}, ["big.py"], texts={"big.py": text})
    assert written(parsed)["big.py"].count("// ") == 5
    assert estimate_tokens(cheap) <= 300


@pytest.mark.parametrize("asked", [ReplyFormat.FILES, ReplyFormat.EDITS])
def test_a_copied_example_changes_no_file(asked: ReplyFormat) -> None:
    examples = parse_files_reply(render_format(asked))
    assert examples.files
    assert TEXTS.keys().isdisjoint(each.path for each in examples.files)
    for each in examples.files:
        if each.form is not Form.WHOLE:
            assert "may not be written" in str(refused(reply(each)))


def test_the_instructions_describe_the_forms_that_are_offered_and_no_other() -> None:
    text = render_format(ReplyFormat.EDITS, {"a.py": Form.DEFINITION, "new.py": Form.WHOLE})
    assert "Of a.py, write only the definitions" in text
    assert "Write new.py whole." in text
    assert "Change other lines of it by search texts" in text
    assert "SEARCH" in text
    assert "SEARCH" not in render_format(ReplyFormat.EDITS, {"new.py": Form.WHOLE})
    assert "SEARCH" in render_format(ReplyFormat.EDITS)


@pytest.mark.parametrize("opening", ["markdown", ""])
def test_a_header_inside_its_block_is_no_part_of_the_file(opening: str) -> None:
    parsed = read(f"It is done.\n\n```{opening}\nedit page.md\n{RIGHT.content}```\n")
    assert written(parsed) == {"page.md": "# Name\n"}


def test_a_block_with_search_texts_and_more_is_no_whole_file() -> None:
    text = f"It is done.\n\n```page.md\nOnly this line changes:\n{RIGHT.content}```\n"
    error = refused(text)
    assert "outside of" in str(error)
    assert written(again(error, reply(RIGHT))) == {"page.md": "# Name\n"}
