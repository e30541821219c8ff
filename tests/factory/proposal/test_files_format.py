"""The reply format `files`: byte-exact, lenient where there is one reading, strict elsewhere."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import ReplyFormat
from factory.proposal.read_reply import ReplyReader
from factory.proposal.reply_formats import (
    FilesReply,
    ProposedFile,
    fence_for,
    parse_files_reply,
    render_files_example,
    render_files_reply,
    unwrap_fenced_content,
)
from shared.llm.model_client import ReplyMalformed
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder
from tests.harness import writing

# Lines that are made to confuse, beside whatever hypothesis thinks of.
confusing = st.lists(
    st.sampled_from(
        [
            "```",
            "````",
            "```python",
            "   ```",
            "</think>",
            "<think>",
            "\\ No newline at end of file",
            "",
            "\r",
            "~~~",
        ]
    )
    | st.text(max_size=8),
    max_size=8,
).map("\n".join)
contents = confusing | confusing.map(lambda text: text + "\n")
paths = st.sampled_from(
    ["a.py", "src/a b.py", "Makefile", "md", "a`b", 'q"q', "x:y", "path=z"]
) | st.text(min_size=1, max_size=12)


@given(
    st.text(max_size=20), st.lists(st.builds(ProposedFile, paths, contents), min_size=1, max_size=3)
)
def test_what_is_rendered_parses_to_the_very_same_bytes(
    summary: str, files: list[ProposedFile]
) -> None:
    reply = parse_files_reply(render_files_reply(summary, files))
    assert reply == FilesReply(" ".join(summary.split()), tuple(files))


def test_the_example_shows_the_format() -> None:
    reply = parse_files_reply(render_files_example())
    assert [file.path for file in reply.files] == ["path/of/one.py", "path/of/another.py"]
    assert reply.files[0].content.endswith(")\n")
    assert reply.repairs == ()


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("hello.py", "hello.py"),
        ("python hello.py", "hello.py"),
        ("python:hello.py", "hello.py"),
        ('python title="src/hello.py"', "src/hello.py"),
        ("file: hello.py", "hello.py"),
        ("path=hello.py", "hello.py"),
        ("Makefile", "Makefile"),
        ('"a b.txt"', "a b.txt"),
        ("a b.txt", "a b.txt"),
    ],
)
def test_a_header_may_name_its_path_in_many_ways(header: str, path: str) -> None:
    reply = parse_files_reply(f"Done.\n\n```{header}\nx\n```\n")
    assert reply == FilesReply("Done.", (ProposedFile(path, "x\n"),))


def test_the_allowed_paths_settle_a_header_with_two_readings() -> None:
    text = "```lua main.lua\nx\n```"
    assert parse_files_reply(text).files[0].path == "lua main.lua"
    assert parse_files_reply(text, ["main.lua"]).files[0].path == "main.lua"


def test_the_one_block_of_an_order_with_one_file_needs_no_name() -> None:
    text = "Prints hi.\n```python\nprint('hi')\n```\n\nRun it:\n```bash\npython hello.py\n```\n"
    reply = parse_files_reply(text, ["hello.py"])
    assert reply.files == (ProposedFile("hello.py", "print('hi')\n", is_bare=True),)
    assert len(reply.repairs) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no fenced block"),
        ("print('hi')", "no fenced block"),
        ("```a.py\nx\n", "'```a.py' never closes"),
        ("```python\nx\n```\n```a.py\ny\n```", "'```python' names no file"),
        ("```bash\nls\n```\n```sh\nls\n```", "no block of the reply names a file"),
        ("<think>```a.py\nx\n```", "ends inside its reasoning"),
        # A bare fence inside a file closes its block; what is left over gives it away.
        ("```README.md\nRun:\n```\nls\n```\nBye.\n```", "'```' names no file"),
    ],
)
def test_what_cannot_be_read_in_one_way_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ReplyMalformed, match=reason):
        parse_files_reply(text)


def test_fences_with_a_language_nest_and_are_reported() -> None:
    text = "Docs.\n```README.md\n# T\n```bash\nls\n```\nBye.\n```\n"
    reply = parse_files_reply(text)
    assert reply.files == (ProposedFile("README.md", "# T\n```bash\nls\n```\nBye.\n"),)
    assert reply.repairs == ("README.md holds fences as long as its own; read as nested",)


@pytest.mark.parametrize(
    "thought", ["<think>\n```b.py\n1\n```\n</think>\n", "hm\n```b.py\n1\n```\n</think>\n"]
)
def test_files_that_were_only_thought_of_do_not_count(thought: str) -> None:
    reply = parse_files_reply(f"{thought}Done.\n```a.py\n2\n```")
    assert reply == FilesReply("Done.", (ProposedFile("a.py", "2\n"),))


def test_one_path_twice_is_left_for_the_scope_check() -> None:
    reply = parse_files_reply("```a.py\n1\n```\n```a.py\n2\n```")
    assert [file.content for file in reply.files] == ["1\n", "2\n"]


@given(st.text(alphabet="`\n a.py\\", max_size=60))
def test_no_text_ends_in_anything_but_files_or_a_reason(text: str) -> None:
    try:
        reply = parse_files_reply(text, ["a.py"])
    except ReplyMalformed:
        return
    assert reply.files
    assert all(file.content.removesuffix("\n") in text for file in reply.files)


@pytest.mark.parametrize("unit", ["`", "```\n", "```a\n", "\n", " ", "x\n", "path ", "</think>\n"])
def test_a_hostile_megabyte_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    try:
        parse_files_reply("```a.py\n" + unit * (1_000_000 // len(unit)))
    except ReplyMalformed as refused:
        assert len(refused.reason) < 300
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("content", "unwrapped"),
    [
        ("```python\nx = 1\n```", "x = 1\n"),
        ("```\nx = 1\n```\n", "x = 1\n"),
        ("````md\n```\nls\n```\n````", "```\nls\n```\n"),
        ("```md\n# T\n```sh\nls\n```\n```", "# T\n```sh\nls\n```\n"),
    ],
)
def test_a_fence_around_all_of_a_file_is_taken_off(content: str, unwrapped: str) -> None:
    assert unwrap_fenced_content(content) == (unwrapped, True)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "x = 1\n",
        "```",
        "```python\nx = 1\n",
        "# Title\n```\nls\n```\n",
        "```\na\n```\ntext\n```\nb\n```",
    ],
)
def test_a_file_that_holds_fences_of_its_own_stays_as_it_is(content: str) -> None:
    assert unwrap_fenced_content(content) == (content, False)


@given(confusing)
def test_a_fence_is_longer_than_any_in_the_file(content: str) -> None:
    assert f"\n{fence_for(content)}" not in f"\n{content}"


@pytest.mark.parametrize(
    "heading",
    [
        "## src/a.py",
        "**src/a.py**",
        "`src/a.py`:",
        "### File: `src/a.py`",
        "src/a.py",
        "- path: src/a.py",
        "## src/a.py\nIt holds x.",
    ],
)
def test_a_path_above_the_block_names_it_where_the_path_is_allowed(heading: str) -> None:
    text = f"Summary.\n\n{heading}\n\n```python\nx = 1\n```\n\nsrc/b.py\n```\ny = 1\n```\n"
    reply = parse_files_reply(text, ["src/a.py", "src/b.py"])
    assert [(each.path, each.content) for each in reply.files] == [
        ("src/a.py", "x = 1\n"),
        ("src/b.py", "y = 1\n"),
    ]
    assert reply.named
    assert "the path src/a.py stood beside its block" in reply.repairs


def test_a_line_of_many_marks_is_read_at_once() -> None:
    marks = "x" + "-" * 500_000 + "x"
    reply = parse_files_reply(f"{marks}\n\nThis:\n```\n{marks}\n```\n", ["src/a.py"])
    assert reply.files[0].content == f"{marks}\n"
    reply = parse_files_reply(f"This:\n```\n{marks}\n```\n", ["src/a.py"])
    assert reply.files[0].content == f"{marks}\n"


@pytest.mark.parametrize(
    "line", ["src/a.py", "src/a.py:", "`src/a.py`", "**src/a.py**:", " src/a.py "]
)
@pytest.mark.parametrize("opening", ["```python", "src/a.py\n```"])
def test_a_path_as_the_first_line_of_its_own_code_is_left_out(line: str, opening: str) -> None:
    reply = parse_files_reply(f"{opening}\n{line}\nx = 1\n```\n", ["src/a.py"])
    assert [each.content for each in reply.files] == ["x = 1\n"]
    assert "the first line of src/a.py named it or its language, and was left out" in reply.repairs


def test_the_name_of_a_language_below_a_fence_without_one_is_left_out() -> None:
    for name, path in (("python", "a.py"), ("Go", "a.go")):
        reply = parse_files_reply(f"```\n{name}\nx = 1\n```\n", [path])
        assert [each.content for each in reply.files] == ["x = 1\n"]
    for reply_text in ("```python\npython\nx = 1\n```\n", "```\npython3 = 1\n```\n"):
        (file,) = parse_files_reply(reply_text, ["a.py"]).files
        assert file.content.startswith("python")


@pytest.mark.parametrize(
    ("opening", "path", "content"),
    [
        ("", "notes.txt", "notes.txt\nx\n"),
        ("", "src/a.py", "src/a.py x\n"),
        ("", "src/a.py", "src/b.py\n"),
        ("src/a.py", "src/a.py", "src/a.py\n"),
    ],
)
def test_a_first_line_that_may_be_meant_stays(opening: str, path: str, content: str) -> None:
    reply = parse_files_reply(f"```{opening}\n{content}```\n", [path])
    assert [each.content for each in reply.files] == [content]


@pytest.mark.parametrize("heading", ["other.py", "see src/a.py for more", "", "x" * 10_000])
def test_any_other_line_above_a_block_names_nothing(heading: str) -> None:
    with pytest.raises(ReplyMalformed, match="names no file"):
        parse_files_reply(f"{heading}\n```python\nx = 1\n```\n", ["src/a.py", "src/b.py"])


def test_a_path_in_the_header_wins_over_the_line_above_it() -> None:
    reply = parse_files_reply("src/b.py\n```src/a.py\nx = 1\n```\n", ["src/a.py", "src/b.py"])
    assert [each.path for each in reply.files] == ["src/a.py"]


@pytest.mark.parametrize(
    "comment", ["# src/a.py", "// src/a.py", "<!-- src/a.py -->", "/* src/a.py */"]
)
def test_a_path_in_the_first_comment_of_a_block_names_it_and_stays(comment: str) -> None:
    text = f"```\n{comment}\nx\n```\n"
    reply = parse_files_reply(text, ["src/a.py", "src/b.py"])
    assert [(each.path, each.content) for each in reply.files] == [("src/a.py", f"{comment}\nx\n")]


def test_two_paths_beside_a_block_name_nothing() -> None:
    with pytest.raises(ReplyMalformed, match="names no file"):
        parse_files_reply("src/a.py\n```\n# src/b.py\nx\n```\n", ["src/a.py", "src/b.py"])


def test_a_summary_that_repeats_the_title_says_nothing_more() -> None:
    order = parse_document(WorkOrder, writing("a.py", title="Say hello"))
    reader = ReplyReader(order)
    for said, kept in (
        ("Say hello.", ""),
        ("say HELLO", ""),
        ("Say hello twice", "Say hello twice"),
    ):
        reply = f"Summary: {said}\n\n```a.py\nx = 1\n```\n"
        parsed = reader.read(reply, (), ReplyFormat.FILES, None)
        assert parsed.proposal.summary == kept


CODE = "def f(n):\n    return n\n"
SHOWN = "def test_f():\n    assert f(1) == 1\n"


@pytest.mark.parametrize(
    "reply",
    [
        f"```python\n{CODE}```\n\ntests/test_a.py\n```python\n{SHOWN}```\n",
        f"For example:\n```python\nf(1)\n```\nThe file:\n```\n{CODE}```\n",
    ],
)
def test_of_several_blocks_for_one_file_the_one_that_defines_what_it_does_is_meant(
    reply: str,
) -> None:
    """Small models add tests that are there already, and examples."""
    present = {"a.py": "def f(n):\n    ...\n"}
    read = parse_files_reply(reply, ["a.py"], None, present)
    assert [(each.path, each.content) for each in read.files] == [("a.py", CODE)]
    assert "of 2 blocks without a path, the one that defines f" in read.repairs
    for texts in ({}, {"a.py": ""}, {"a.py": "def g(): ...\n"}):
        with pytest.raises(ReplyMalformed, match="names no file"):
            parse_files_reply(reply, ["a.py"], None, texts)
    with pytest.raises(ReplyMalformed, match="names no file"):
        parse_files_reply(reply + f"\n```\n{CODE}```\n", ["a.py"], None, present)
