"""Markdown shows each text as it is: nothing in it becomes a heading, a link, HTML or a mention."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from llmch.console.document import (
    AlreadyShown,
    Block,
    Conclusion,
    Item,
    Link,
    Paragraph,
    Patch,
    Problem,
    Remark,
    Rows,
    Section,
    Sign,
)
from llmch.console.line import clean
from llmch.console.render import code_block, code_span, escaped, render_markdown_document
from shared.errors import ShownFinding
from tests.llmch.answers import Answer

HOSTILE = [
    "# no heading",
    "- no item",
    "1. no item",
    "> no quote",
    "--- ",
    "[a](https://example.org)",
    "![a](https://example.org/x.png)",
    "<script>alert(1)</script>",
    "<!-- -->",
    "a | b",
    "`code` and ``more``",
    "**bold** _it_ ~~gone~~",
    "&lt;b&gt; &amp;",
    "back\\slash\\",
    "$x$",
    "\x1b[31mred\x1b[0m",
    "\u202eright to left",
    "`\u200b``\u200b`",
    "two\nlines\u2028and a third",
    "```",
    "@everyone see #12",
    "Fixes https://github.com/ada/shop/issues/5, GH-7 and www.example.org; HTTP://x.y ftp://z",
]
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def parsed(text: str) -> list[Token]:
    """Return what Markdown takes the text for, the tokens inside of others too."""
    found: list[Token] = []
    for token in PARSER.parse(text):
        found.append(token)
        found += token.children or []
    return found


def shown(tokens: Iterable[Token]) -> str:
    """Return the text that a reader sees, its spaces left out."""
    inline = ("text", "code_inline", "fence", "code_block", "text_special")
    return "".join("".join(each.content for each in tokens if each.type in inline).split())


def kinds(tokens: Iterable[Token]) -> set[str]:
    plain = {"text", "inline", "paragraph_open", "paragraph_close", "text_special"}
    return {each.type for each in tokens if each.content != "<!-- -->"} - plain


def seen_in(text: str) -> str:
    return "".join(clean(text).split())


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_shown_and_is_nothing_else(text: str) -> None:
    tokens = parsed(escaped(clean(text)))
    assert kinds(tokens) == set()
    assert shown(tokens) == seen_in(text)


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_any_text_is_shown_and_is_nothing_else(text: str) -> None:
    tokens = parsed(escaped(clean(text)))
    assert kinds(tokens) == set()
    assert shown(tokens) == seen_in(text)


@given(st.text(st.sampled_from("` ab\n~|\\"), max_size=20))
def test_code_keeps_its_text_whatever_its_fences(text: str) -> None:
    line = parsed(code_span(text))
    assert shown(line) == seen_in(text)
    assert kinds(line) <= {"code_inline"}
    (block,) = (each for each in parsed(code_block(text, "diff")) if each.type == "fence")
    assert "".join(block.content.split()) == seen_in(text)


@pytest.mark.parametrize("link", ["https://a.b/c", "HTTP://a.b", "ftp://a.b", "www.a.b", "GH-7"])
def test_what_hosts_make_links_of_without_a_mark_is_no_link(link: str) -> None:
    assert link not in escaped(f"Fixes {link}")


def test_an_address_of_llmch_s_own_is_a_link_unless_it_is_none() -> None:
    assert rendered(Link("opened", "https://a.b/c/7")) == "opened <https://a.b/c/7>\n"
    assert "<!-- -->" in rendered(Link("opened", "https://a.b/> [x](https://evil)"))


def test_a_mention_notifies_nobody() -> None:
    assert "@everyone" not in escaped("@everyone")
    assert "#12" not in escaped("see #12").replace("\\", "")


def rendered(*blocks: Block) -> str:
    return render_markdown_document(Answer({}, *blocks), clean)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_block_lets_a_text_out(text: str) -> None:
    items = (Item(text, Sign.NEW, True, text), Item(text), Item(text, Sign.WARNING))
    tokens = parsed(
        rendered(
            Paragraph((text, "", text)),
            Remark((text,)),
            Rows(((text, text),), ("one", "two")),
            Section(text, items, name="WO-01", word="to do", aside=text),
            Section(text),
            ShownFinding("E101", "error", "WO-01", "title", text, text),
            Conclusion("plan", text, True, text),
            Problem(text, text),
            AlreadyShown((Paragraph((text,)),)),
        )
    )
    assert not {"link_open", "image", "html_block", "fence", "code_block", "hr"} & kinds(tokens)
    assert [each.tag for each in tokens if each.type == "heading_open"] == ["h3", "h3"]
    assert len([each for each in tokens if each.type == "tr_open"]) == 2
    assert len([each for each in tokens if each.type == "td_open"]) == 2
    assert {each.content for each in tokens if each.type == "html_inline"} <= {"<!-- -->"}


def test_no_line_is_a_command_for_gitlab() -> None:
    """Its comments run `/close` and the like, with the rights of whoever posts them."""
    said = "one\n/close\n\n/merge"
    text = rendered(Paragraph((said,)), Remark(("/assign @eve",)), Problem(said, said))
    assert not [each for each in text.split("\n") if each.lstrip().startswith("/")]
    words = shown(parsed(text))
    assert all(each in words for each in ("/close", "/merge", "/assign"))


def test_a_patch_is_a_block_of_code() -> None:
    (fence,) = (each for each in parsed(rendered(Patch("+```\n+x\n"))) if each.type == "fence")
    assert (fence.info, fence.content) == ("diff", "+```\n+x\n")


def test_the_parts_of_a_document_stand_apart() -> None:
    text = rendered(
        Paragraph(("one", "two", "", "three")), Section("Head", (Item("a.py", Sign.NEW, True),))
    )
    assert text == "one\\\ntwo\n\nthree\n\n### Head\n\n- `+` `a.py`\n"
