"""A reply is read in whichever format it came, and never as a file that it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import ReplyFormat, RunSummary
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.stages import Stage
from factory.proposal.read_reply import (
    ParsedReply,
    ProposalInvalid,
    ReplyReader,
    parse_proposal,
)
from factory.proposal.reply_formats import ProposedFile, fenced_to_stay, render_files_reply
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import ShownFile, Window
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes
from shared.work_order.work_order import WorkOrder
from tests.fakes import proposal
from tests.harness import Factory, blob, commit_all, order, stages

FORMATS = tuple(ReplyFormat)
SHOWN = {
    "hello.py": FileState(FileKind.FILE, sha256_bytes(b"old\n")),
    "data.json": FileState(FileKind.FILE, sha256_bytes(b"{}\n")),
}
CODE = 'print("hi")\n'


def document(files: Mapping[str, str], *, hashes: bool = True, **more: object) -> str:
    """Return a JSON proposal, as a model writes it that was shown the hashes or was not."""
    base = {path: SHOWN[path].sha256 if path in SHOWN else EMPTY_SHA256 for path in files}
    writes = [
        {"path": path, **({"base_sha256": base[path]} if hashes else {}), "content": content}
        for path, content in files.items()
    ]
    return json.dumps({"summary": "Say hi.", "writes": writes, **more})


def read(reply: str, asked: ReplyFormat, allowed: Sequence[str] = ("hello.py",)) -> ParsedReply:
    return parse_proposal(reply, asked, SHOWN, allowed)


def written(parsed: ParsedReply) -> dict[str, str]:
    return {write.path: write.content for write in parsed.proposal.writes}


@pytest.mark.parametrize(
    ("path", "content", "kept"),
    [
        ("hello.py", "```python\nx = 1\n```\n", "x = 1\n"),
        ("hello.py", "```\nx = 1\n```", "x = 1\n"),
        ("hello.py", "```\nx = 1\n```\nand\n```\ny = 2\n```\n", None),
        ("hello.py", "```\nx = 1\n", None),
        ("page.md", "```\nx = 1\n```\n", None),
    ],
)
def test_a_fence_around_a_files_content_is_taken_off(
    path: str, content: str, kept: str | None
) -> None:
    parsed = read(document({path: content}), ReplyFormat.JSON, (path,))
    assert written(parsed) == {path: content if kept is None else kept}
    repair = f"a fence around the content of {path} was taken off"
    assert (repair in parsed.repairs) is (kept is not None)


@pytest.mark.parametrize("asked", FORMATS)
def test_a_file_of_which_parts_were_shown_is_written_whole_by_nobody_who_was_asked_for_parts(
    asked: ReplyFormat,
) -> None:
    def parsed() -> ParsedReply:
        reply, texts = document({"hello.py": CODE}), {"hello.py": "old\n"}
        return parse_proposal(reply, asked, SHOWN, ["hello.py"], texts=texts, parted=["hello.py"])

    if asked is ReplyFormat.JSON:
        assert written(parsed()) == {"hello.py": CODE}
    else:
        with pytest.raises(ProposalInvalid, match="only parts of it were shown"):
            parsed()


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("out.txt", "```\nby hand\n```\n"),
        ("out.txt", "````mdx\n```\nx\n```\n````\n"),
        ("page.md", "```\nby hand\n```\n"),
        ("out.txt", "plain\n"),
    ],
)
def test_what_was_written_by_hand_stays_as_it_is(path: str, content: str) -> None:
    reply = document({path: fenced_to_stay(path, content)})
    assert written(read(reply, ReplyFormat.JSON, (path,))) == {path: content}


def test_only_the_first_problems_of_a_reply_are_named() -> None:
    writes = [{"path": number} for number in range(20)]
    with pytest.raises(ProposalInvalid) as refused:
        read(json.dumps({"summary": "s", "writes": writes}), ReplyFormat.JSON)
    head, *shown, rest = str(refused.value).splitlines()
    assert head == "the JSON object is no proposal:"
    assert [each.partition(":")[0] for each in shown[:3]] == [
        "writes.0.path",
        "writes.0.base_sha256",
        "writes.0.content",
    ]
    assert len(shown) == 5
    assert re.fullmatch(r"and \d\d more", rest)


def fenced(text: str, info: str = "json") -> str:
    return f"Here it is:\n\n```{info}\n{text}\n```\n"


@pytest.mark.parametrize("info", ["json", "", "JSON", "text"])
@pytest.mark.parametrize("asked", FORMATS)
def test_a_json_proposal_in_a_fence_is_a_proposal(asked: ReplyFormat, info: str) -> None:
    parsed = read(fenced(document({"hello.py": CODE}), info), asked)
    assert written(parsed) == {"hello.py": CODE}
    assert parsed.proposal.summary == "Say hi."
    assert parsed.proposal.writes[0].base_sha256 == SHOWN["hello.py"].sha256
    told = () if asked is ReplyFormat.JSON else ("the reply came in the format json",)
    assert parsed.repairs == told


@pytest.mark.parametrize("asked", FORMATS)
def test_a_reply_of_files_is_read_though_json_was_asked_for(asked: ReplyFormat) -> None:
    reply = render_files_reply("Say hi.", [ProposedFile("hello.py", CODE)])
    parsed = read(reply, asked)
    assert written(parsed) == {"hello.py": CODE}
    assert parsed.proposal.writes[0].base_sha256 == SHOWN["hello.py"].sha256


@pytest.mark.parametrize(
    "reply",
    [
        document({"hello.py": CODE}, hashes=False),
        fenced(document({"hello.py": CODE}, hashes=False)),
    ],
    ids=["bare", "fenced"],
)
def test_where_no_hash_was_shown_none_is_asked_of_a_json_reply(reply: str) -> None:
    parsed = read(reply, ReplyFormat.FILES)
    assert written(parsed) == {"hello.py": CODE}
    assert parsed.proposal.writes[0].base_sha256 == SHOWN["hello.py"].sha256


@pytest.mark.parametrize("asked", FORMATS)
def test_a_hash_that_the_model_gives_is_kept(asked: ReplyFormat) -> None:
    reply = document({"hello.py": CODE}).replace(SHOWN["hello.py"].sha256, "f" * 64)
    assert read(reply, asked).proposal.writes[0].base_sha256 == "f" * 64


def test_where_hashes_were_shown_a_reply_without_them_is_invalid_and_no_file() -> None:
    for allowed in ("hello.py", "data.json"):
        reply = fenced(document({allowed: CODE}, hashes=False))
        with pytest.raises(ProposalInvalid, match=r"writes\.0\.base_sha256: Field required"):
            read(reply, ReplyFormat.JSON, [allowed])


@pytest.mark.parametrize("asked", FORMATS)
@pytest.mark.parametrize(
    "broken",
    [
        '{"summary": "x", "writes": [{"path": "hello.py", "content": "print("hi")"}]}',
        '{"summary": "x", "writes": [{"path": "hello.py", "content": "a\nb"}]}',
        '{"summary": "x", "writes": [{"path": "hello.py", "content": "a"}]',
        '{"writes": [], "summary": "nothing"}',
        '{"summary": 7, "writes": [{"path": "hello.py", "content": "a"}]}',
    ],
    ids=["quotes", "line end", "unclosed", "empty", "wrong type"],
)
def test_a_proposal_that_is_not_quite_json_is_not_written_as_the_file(
    asked: ReplyFormat, broken: str
) -> None:
    with pytest.raises(ProposalInvalid):
        read(fenced(broken), asked)


@pytest.mark.parametrize("asked", FORMATS)
def test_a_command_beside_a_json_proposal_is_not_written_as_the_file(asked: ReplyFormat) -> None:
    proposed = document({"hello.py": CODE})
    for allowed in (["hello.py"], ["hello.py", "data.json"]):
        reply = f"{proposed}\n\nRun it:\n```bash\npython hello.py\n```\n"
        assert written(read(reply, asked, allowed)) == {"hello.py": CODE}
        assert written(read(fenced(proposed) + reply[len(proposed) :], asked, allowed)) == {
            "hello.py": CODE
        }


def test_a_proposal_for_another_file_is_left_to_the_scope_to_refuse() -> None:
    for asked in FORMATS:
        assert written(read(fenced(document({"other.py": CODE})), asked)) == {"other.py": CODE}


@pytest.mark.parametrize("asked", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        '{"a": 1}',
        '{"summary": "a report", "writes": 3}',
        '{"writes": ["a", "b"]}',
        "[1, 2]",
        '{"path": "data.json"}',
    ],
)
def test_the_one_json_file_of_an_order_can_be_written(asked: ReplyFormat, content: str) -> None:
    assert written(read(fenced(content), asked, ["data.json"])) == {"data.json": content + "\n"}


def test_a_json_file_may_hold_a_proposal_for_other_files() -> None:
    sample = document({"hello.py": CODE})
    assert written(read(fenced(sample), ReplyFormat.FILES, ["data.json"])) == {
        "data.json": sample + "\n"
    }
    # Where JSON was asked for, the very same reply is the proposal.
    assert written(read(fenced(sample), ReplyFormat.JSON, ["data.json"])) == {"hello.py": CODE}


@pytest.mark.parametrize("asked", FORMATS)
def test_a_path_after_the_fence_says_that_the_block_is_the_file(asked: ReplyFormat) -> None:
    for path in ("data.json", "hello.py"):
        sample = document({path: CODE})
        reply = fenced(sample, path)
        assert written(read(reply, asked, ["data.json", "hello.py"])) == {path: sample + "\n"}


@pytest.mark.parametrize("asked", FORMATS)
def test_a_header_that_names_the_document_names_no_file(asked: ReplyFormat) -> None:
    proposed = document({"hello.py": CODE})
    assert written(read(fenced(proposed, "json proposal.json"), asked)) == {"hello.py": CODE}


@pytest.mark.parametrize("asked", FORMATS)
@pytest.mark.parametrize("info", ["python", "hello.py", ""])
def test_a_proposal_within_code_is_code(asked: ReplyFormat, info: str) -> None:
    code = f"REPLY = {document({'hello.py': 'x'})}\nassert REPLY"
    assert written(read(fenced(code, info), asked)) == {"hello.py": code + "\n"}


# Lines that look like either format, beside whatever hypothesis thinks of.
pieces = st.sampled_from(
    [
        document({"hello.py": "x"}),
        document({"data.json": "{}"}),
        '{"a": {}}',
        '"writes": [',
        "```",
        "```json",
        "```hello.py",
        "````",
        "</think>",
        "{",
        "}",
        '"',
    ]
) | st.text(max_size=8)
texts = st.lists(pieces, max_size=6).map("\n".join)
contents = texts | texts.map(lambda text: text + "\n")
allowed_paths = st.sampled_from([("hello.py",), ("data.json",), ("hello.py", "data.json")])
formats = st.sampled_from(FORMATS)


@given(st.data(), formats, allowed_paths)
def test_files_that_are_named_are_read_byte_for_byte(
    data: st.DataObject, asked: ReplyFormat, allowed: tuple[str, ...]
) -> None:
    files = [ProposedFile(path, data.draw(contents)) for path in allowed]
    parsed = read(render_files_reply("It is done.", files), asked, allowed)
    assert [(each.path, each.content) for each in parsed.proposal.writes] == [
        (file.path, file.content) for file in files
    ]


@given(
    files=st.dictionaries(
        st.sampled_from(["hello.py", "data.json", "docs/\u00fc.md"]) | st.text(max_size=8),
        contents.filter(lambda text: not text.strip().startswith("```")),
        min_size=1,
        max_size=3,
    ),
    asked=formats,
    allowed=allowed_paths,
    indent=st.sampled_from([None, 2]),
    ascii_only=st.booleans(),
    frame=st.sampled_from(["{}", "```json\n{}\n```", "```\n{}\n```\n", "Sure:\n{}\nDone."]),
)
def test_a_json_proposal_is_read_wherever_it_stands(
    files: dict[str, str],
    asked: ReplyFormat,
    allowed: tuple[str, ...],
    indent: int | None,
    ascii_only: bool,
    frame: str,
) -> None:
    value = json.loads(document(files))
    reply = frame.replace("{}", json.dumps(value, indent=indent, ensure_ascii=ascii_only))
    in_a_json_file = allowed == ("data.json",) and asked is not ReplyFormat.JSON and "```" in frame
    if in_a_json_file and "data.json" not in files:
        files = {"data.json": reply.partition("\n")[2].rpartition("```")[0]}
    assert written(read(reply, asked, allowed)) == files


@given(texts, formats, allowed_paths)
def test_whatever_a_model_replies_is_a_proposal_or_a_reason(
    reply: str, asked: ReplyFormat, allowed: tuple[str, ...]
) -> None:
    try:
        parsed = read(reply, asked, allowed)
    except ProposalInvalid as invalid:
        assert str(invalid)
    else:
        assert parsed.proposal.writes


def run(factory: Factory, reply: str, path: str, calls: int = 1) -> RunSummary:
    document = order(
        allowed_files=[path],
        postconditions=[{"kind": "file_exists", "path": path}],
        acceptance_commands=[f"test -s {path}"],
    )
    models = ModelChoice((Rung("scripted"),), reply_format=ReplyFormat.FILES)
    return factory.run(document, [reply] * calls, max_attempts=1, models=models)


def test_the_factory_commits_what_a_fenced_json_proposal_proposes(factory: Factory) -> None:
    summary = run(factory, fenced(document({"new.py": CODE}, hashes=False)), "new.py")
    assert stages(summary) == [""]
    assert blob(factory.repo, "work", "new.py") == CODE.encode()


def test_the_factory_commits_a_json_file(factory: Factory) -> None:
    summary = run(factory, fenced('{"writes": [1]}'), "new.json")
    assert stages(summary) == [""]
    assert blob(factory.repo, "work", "new.json") == b'{"writes": [1]}\n'


def test_the_factory_does_not_write_a_broken_proposal_into_the_file(factory: Factory) -> None:
    broken = '{"summary": "x", "writes": [{"path": "new.py", "content": "print("hi")"}]}'
    assert stages(run(factory, fenced(broken), "new.py", 3)) == [Stage.LLM_OUTPUT_INVALID]


@pytest.mark.parametrize(("text", "stage"), [("base\n", ""), ("b\n", Stage.WRITE_SCOPE_VIOLATION)])
def test_a_copy_of_what_was_only_shown_is_left_out(factory: Factory, text: str, stage: str) -> None:
    commit_all(factory.repo, {"base.txt": "base\n"})
    reply = proposal({"hello.txt": "hello\n", "base.txt": text})
    summary = factory.run(order(context_files=["base.txt"]), [reply], max_attempts=1)
    assert stages(summary) == [stage]
    repairs = summary.attempt_records[0].repairs
    assert ("base.txt was given as it is, and left out" in repairs) is (stage == "")


WHOLE = "import os\n\nX = 1\nY = os.sep\n"
ELIDED = "# ... existing code unchanged ...\nX = 2\n"


@pytest.mark.parametrize("later", [WHOLE.replace("1", "2"), ELIDED])
def test_lines_that_a_document_leaves_out_are_asked_for_and_never_land(
    factory: Factory, later: str
) -> None:
    commit_all(factory.repo, {"base.py": WHOLE})
    document = order(
        allowed_files=["base.py"],
        context_files=["base.py"],
        acceptance_commands=["grep -q 2 base.py"],
    )
    replies = [proposal({"base.py": text}) for text in (ELIDED, later, later)]
    summary = factory.run(document, replies, max_attempts=1)
    assert stages(summary) == ["" if later != ELIDED else Stage.LLM_OUTPUT_INVALID]
    note = "In base.py, `# ... existing code unchanged ...` stands for lines that are left out"
    assert note in factory.prompt(1) and "Give each file whole." in factory.prompt(1)


def reader_for(path: str) -> ReplyReader:
    return ReplyReader(WorkOrder.model_validate(order(allowed_files=[path])))


LONG = "".join(f"line {at}\n" for at in range(9))


@pytest.mark.parametrize(
    ("parts", "elides", "is_in_parts"),
    [
        (None, False, False),
        ((Window(1, 4),), False, True),
        ((Window(1, 4), Window(5, 9)), False, False),
        ((Window(1, 4),), True, False),
    ],
)
def test_what_is_shown_in_parts_is_not_taken_as_a_whole(
    parts: tuple[Window, ...] | None, elides: bool, is_in_parts: bool
) -> None:
    state = FileState(FileKind.FILE, sha256_bytes(LONG.encode()))
    shown = ShownFile("base.txt", state, LONG, parts, elides=elides)
    assert shown.is_in_parts is is_in_parts
    reply = render_files_reply("s", [ProposedFile("base.txt", "line 0\n" * 9)])
    if is_in_parts:
        with pytest.raises(ProposalInvalid, match="only parts of it were shown"):
            reader_for("base.txt").read(reply, [shown], ReplyFormat.EDITS, None)
    else:
        parsed = reader_for("base.txt").read(reply, [shown], ReplyFormat.EDITS, None)
        assert written(parsed) == {"base.txt": "line 0\n" * 9}
