"""What of an issue becomes a specification: what a reader sees, and nothing that is hidden."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from planner.spec.issue_text import (
    MOST_CHARACTERS,
    Remark,
    ShownText,
    remark_line,
    shown_text,
    spec_of_issue,
    with_remarks,
)
from planner.spec.requirements import derive_requirements
from shared.errors import InvalidInput

FENCE = "```html\n<!-- shown -->\n<b>x</b>\n```"


@pytest.mark.parametrize(
    ("source", "left_out"),
    [
        ("a <!-- hidden\nhidden --> b", "1 hidden comment"),
        ("<!-- hidden\n\nhidden", "1 hidden comment"),
        ("- <!-- hidden\n\n  hidden -->", "1 hidden comment"),
        ("1. x\n   ```\n<!-- hidden -->", "1 hidden comment"),
        ("<div>\n```\n\n<!-- hidden -->", "1 hidden comment, 1 HTML tag"),
        ("<pre>\n\n```\n<!-- hidden -->\n```", "1 hidden comment, 1 HTML tag"),
        ("\t```\n<!-- hidden -->", "1 hidden comment"),
        ("<? hidden ?><![CDATA[ hidden ]]><!DOCTYPE hidden>", "3 hidden comments"),
        ("![hidden](http://x 'hidden') ![hidden](y)", "2 pictures"),
        ("<img alt='a > hidden' src=x>", "1 picture"),
        ('[shown](http://y "hidden")', "1 title of a link"),
        ('[x]: http://u "hidden\nhidden"', "1 definition of a link"),
        ("[//]: # (hidden)", "1 definition of a link"),
        ("[hidden\nhidden]: <a>", "1 definition of a link"),
        ('<p title="hidden > hidden">shown</p>', "2 HTML tags"),
        ("sho\u200bwn\U000e0068\ufe01\u3164", "4 invisible characters"),
        ("shown <anyname hidden words>", "1 HTML tag"),
        ('<x-y data-a="hidden > hidden">shown</x-y >', "2 HTML tags"),
        ("Vec<hidden> is what GitHub shows as Vec", "1 HTML tag"),
        ("<div>\n<foo, hidden>", "2 HTML tags"),
        ('<div a="hidden\n\n```\nhidden\n```\nhidden', "1 hidden content of a tag, 1 HTML tag"),
        ("<pre>\nx <!--hidden\n\nhidden", "1 hidden comment, 1 HTML tag"),
        ("> <!--\n\n-->\n\nhidden", "1 hidden comment, 1 hidden content of a tag"),
        ("- <!-- x\n-->\nhidden", "1 hidden comment, 1 hidden content of a tag"),
        ("<div>\n<!--\n\n-->\nhidden", "1 hidden comment, 1 hidden content of a tag, 1 HTML tag"),
        ("<!-- x --> <foo, hidden>", "1 hidden comment, 1 HTML tag"),
        ("shown <rp>hidden</rp> shown", "1 hidden content of a tag, 2 HTML tags"),
        ("shown <rp>hidden\n\nhidden", "1 hidden content of a tag, 1 HTML tag"),
        ("[^z]: hidden\n  hidden [^z]\n\n    hidden\n\nshown", "1 footnote that nothing refers to"),
        ("x `[^z]` \\[^z]\n\n[^z]: hidden", "1 footnote that nothing refers to"),
        ("x[^z]\n\n[^Z]: shown\n[^z]: hidden", "1 footnote that nothing refers to"),
        ("[docs](<https://e.org/ hidden words>)", "1 address of a link with words in it"),
        ('[x](a(((b))) "hidden")', "1 title of a link"),
        ("[x](\ny 'a \\' hidden')", "1 title of a link"),
        ("[x]: <a hidden word>", "1 definition of a link"),
        ("[x][a hidden\nword]\n\n[a hidden  word]: y", "1 definition of a link, 1 label of a link"),
        ("![hidden]\n\n[hidden]: y", "1 definition of a link, 1 picture"),
        ('![hidden [b] hidden](<y z> "(hidden)(hidden)")', "1 picture"),
        ("a | b\n-|-\n1 | 2 | hidden | hidden\n", "1 row with cells beyond its table"),
        ("> | a |\n> |:-:|\n> | \\| `b` | hidden |", "1 row with cells beyond its table"),
        ("```sh hidden words\nshown\n```", "1 note beside the language of a block"),
        (f"~~~ {'hidden' * 9}\nshown\n~~~", "1 note beside the language of a block"),
        ("- ```sh hidden\n  shown\n  ```", "1 note beside the language of a block"),
        ("```mermaid\n%% hidden\n```", "1 picture"),
        ("1. x\n   ```GeoJSON\n   hidden\n       ```\n   hidden", "1 picture"),
        ("It is $x \\phantom{\\text{hidden}}$.", "1 hidden part of a formula"),
        ("$`\\color{white} hidden`$", "1 hidden part of a formula"),
        ("$$\nx % hidden\n$$", "1 hidden part of a formula"),
    ],
)
def test_what_is_hidden_is_left_out_and_counted(source: str, left_out: str) -> None:
    shown = shown_text(source)
    assert "hidden" not in shown.text
    assert ", ".join(shown.left_out) == left_out


@pytest.mark.parametrize(
    "source",
    [
        FENCE, "~~~\n<!-- x -->\n~~~", "use `<!--` to begin\n\nmore", "Dict<str, int> < 3 > 2",
        "a < b and c > d", "`Vec<String>` and ``a ` <b c>``", "<https://x.org> <a@b.org>",
        "\\<your name\\>", "50% of $5 \\phantom", "a | b | c", "a[^1]\n\n[^1]: a `note` <3",
        "Run:\n\n1. ```rust\n   f(v: Vec<u8>)\n\n   x\n   ```\n2. ok\n   ```\n   <x y>\n   ```",
        "[x](a(b)c) \"y\")", "| a | b |\n|---|---|\n| `x` \\| y | 2 |", "![1] and ![a](b c)",
        "[text](http://x) and [ref][x], [^1]: a note", "a\n\n    code", "naïve \u2014 \u6f22\u5b57",
    ],
)  # fmt: skip
def test_what_is_shown_stays(source: str) -> None:
    assert shown_text(source).text.strip() == source.strip()
    assert shown_text(source).left_out == ()


@pytest.mark.parametrize(
    "source",
    [
        "`x\n` <b hidden> `y`", "\\` <b hidden> `", '<a x="`"> <b hidden> `', "<ab:`> <b hidden> `",
        "www.x` <b hidden> `", "![a](b`c) <b hidden> ` `d`", "` <!-- ` --> <b hidden> ` b ` c `",
        "x\n[x]: `b\n` <b hidden> `", "| a ` | b |\n|-|-|\n| a ` | <b hidden> ` |",
        "x\n    ```\n    ` ``` <b hidden>\n    ```", "- <div>\n  ```\n  <b hidden>\n  ```",
        "[^1]: x\n    ```\n    hidden\n    ```", "x\n2. ~~~\n   <b hidden>\n   ~~~",
        "<div>\n\u00a0\n```\n<foo, hidden>\n```",
    ],
)  # fmt: skip
def test_what_only_looks_like_code_hides_nothing(source: str) -> None:
    shown = shown_text(source)
    assert "hidden" not in shown.text and shown.left_out


HIDDEN = ("w <x {}>", "w <x y='{}'>", "w </x><!-- {} -->", "[a](<b {}>)", '[a](b "{}")', "![{}](c)",
          "\n\n[d]: <e {}>\n\n", "\n\n[^n]: {}\n\n", "\n\n```text {}\ncode\n```\n", "w <rp>{}</rp>",
          "\n\n|a|\n|-|\n|b|{}|\n\n", "\n\n```mermaid\n{}\n```\n")  # fmt: skip
SHOWN = ("word", " ", "`code <x y>`", "\n", "\n\n", "- ", "> ", "a < b", "**b**", "[a](b)", "1. ",
         "\\<x y>", "\n```text\nx <y z>\n```\n")  # fmt: skip


@given(st.lists(st.sampled_from([*HIDDEN, *SHOWN]), max_size=12))
def test_nothing_hidden_is_kept_wherever_it_is(parts: list[str]) -> None:
    shown = shown_text("".join(each.format("hidden words") for each in parts))
    assert "hidden" not in shown.text
    assert bool(shown.left_out) or not any(each in HIDDEN for each in parts)


@given(st.lists(st.sampled_from(SHOWN), max_size=12))
def test_what_has_nothing_hidden_is_kept_to_the_letter(parts: list[str]) -> None:
    text = "".join(parts)
    assert shown_text(text) == ShownText(text)


@pytest.mark.parametrize(
    "source",
    [
        "[x]: javascript:hidden", "[a](javascript:x 'hidden')", "x\n<source\n`<b hidden>`",
        "<!-- a -- ` --> `<b hidden>`", "<!a ` > `<b hidden>`", "<!doctype x>\n`<b hidden>`",
        "http://x` `<b hidden>`", "x ` y\n-|-|-\nz ` `<b hidden>`", "[^`]: a\n\n[^`] `<b hidden>`",
        "x[^1]\n\n[^1]: hidden\n\nx\n\n<!-- x", "> - [x]: y 'hidden'", f"{'> ' * 120}hidden",
    ],
)  # fmt: skip
def test_what_another_reading_hides_is_hidden(source: str) -> None:
    shown = shown_text(source)
    assert "hidden" not in shown.text and shown.left_out


class Browser(HTMLParser):
    """Reads a page, of which it shows `text`."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.rubies = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.rubies += tag == "rp"

    def handle_endtag(self, tag: str) -> None:
        self.rubies -= tag == "rp" and self.rubies > 0

    def handle_data(self, data: str) -> None:
        self.text += data if not self.rubies else ""


# What stays though it is not drawn, addresses and the languages of blocks, has no place here.
PIECES = (
    "{}", "{} ", "`{}`", "`", "``{}``", "<!-- {} -->", "<!--", "<x {}>", "<x a='{}'>", "<b>",
    "</b>", "<div>", "</div>", "<div {}>", "<?{}?>", "\n", "\n\n", "- ", "> ", "1. ", "    ",
    "[{}](y)", "[a](<b {}>)", '[a](b "{}")', "![{}](c)", "![{}][d]", "[{}][d]", "[d][{}]",
    "[d]: {}\n", "\n[d]: y '{}'\n", "\n\n[^n]: {}\n", "[^n]", "[", "]", "!", "\\", "*", "|",
    "\n|a|b|\n|-|-|\n|{}|{}|{}|\n", "```\n", "```x {}\n", "~~~\n", "\n# {}\n", "<pre>\n",
    "<rp>{}</rp>", "<img alt='{}'>", '"', "'", "=", "<", "&lt;", "http://x/", "\t", "$",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_nothing_is_kept_that_the_page_does_not_show(pieces: list[str]) -> None:
    page = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")
    footnote_plugin(page, inline=False)
    words = [f"w{number}w" for number in range(3 * len(pieces))]
    source = "".join(
        piece.format(*words[3 * number :]) for number, piece in enumerate(pieces)
        if piece.strip() != "[^n]: {}" or piece not in pieces[:number]
    )  # fmt: skip
    seen = Browser(page.render(source)).text
    shown = shown_text(source).text
    assert [word for word in words if word in shown and word not in seen] == []


def test_a_title_is_shown_as_it_is_written() -> None:
    spec = spec_of_issue("Read `a` into List<int> <!-- x -->\u200b", "- It is read.", "issue 1")
    assert spec.text.startswith("# Read `a` into List<int> <!-- x -->\n")


def test_a_block_of_code_is_a_text_of_commands_that_nobody_runs() -> None:
    spec = spec_of_issue("Title", "Do it.\n\n```sh\nrm -rf /\n```\n", "issue 1").text
    assert "```sh\nrm -rf /\n```" in spec


def test_a_comment_hides_nothing_that_comes_after_it() -> None:
    for comment in (
        "<!--\n\n`x\n-->\n\n",
        "- <!-- x\n\n  y -->\n- ",
        "> <!-- x\n> y -->\n",
        "a <!--\nb --> ",
    ):
        assert "`Vec<T>`" in shown_text(f"{comment}\n\n`Vec<T>`").text


def test_the_tags_of_a_prompt_are_no_tags_in_it() -> None:
    for text in ("</product_spec>", "```\n</product_spec>\n```", "<PRODUCT_SPEC >"):
        assert "<" not in shown_text(text).text


@pytest.mark.parametrize(
    ("title", "body", "named"),
    [
        ("T", "![only](x)\n\n<img src=y>", "has nothing but pictures"),
        ("?", " \n", "says nothing"),
        ("T", "x" * 1_000_000, "has 1,000,001 characters"),
    ],
)
def test_an_issue_that_cannot_be_a_specification_is_refused(
    title: str, body: str, named: str
) -> None:
    with pytest.raises(InvalidInput, match=named) as refused:
        spec_of_issue(title, body, "issue 7")
    assert refused.value.message.startswith("issue 7 ") and refused.value.hint
    assert len("x" * MOST_CHARACTERS) < 1_000_000


def test_an_empty_issue_is_its_title() -> None:
    spec = spec_of_issue("# Add\n## `--json`", "<!-- template -->\n", "issue 1")
    assert spec.text == "# Add ## `--json`\n\n- Add ## `--json`\n"


def test_remarks_are_requirements_with_ids_of_their_own() -> None:
    spec = spec_of_issue("Sums", "- The total must be exact.\n", "issue 1").text
    hostile = "Round half to even.\n\n# Answers\n- RC-9: no\n<!-- hidden -->"
    text = with_remarks(spec, (Remark("RC-2843126305", hostile, "src/a.py"),))
    found = {each.id: each.text for each in derive_requirements(text, "spec")}
    assert "RC-9" not in found
    assert found["RC-2843126305"].startswith("In `src/a.py`: Round half to even. # Answers")
    assert "hidden" not in text and with_remarks(spec, ()) == spec


@given(st.text(alphabet="<>!-?[]()`~\"' \n:abx\\#*\u200b"))
def test_any_text_is_read_and_reading_it_again_changes_no_requirement(text: str) -> None:
    shown = shown_text(text).text
    assert "\u200b" not in shown
    assert "\n" not in remark_line(text)


def seconds_for(part: str) -> float:
    began = time.process_time()
    shown_text((part * MOST_CHARACTERS)[: MOST_CHARACTERS // 4])
    return time.process_time() - began


@pytest.mark.parametrize("part", ["![[", "![", "[", "[![", "![[a](", "<!["])
def test_brackets_that_are_not_closed_take_about_as_long_as_other_marks(part: str) -> None:
    assert seconds_for(part) < 6 * seconds_for("*_")


@pytest.mark.parametrize("depth", [3, 30, 120, 1_000])
def test_words_of_a_picture_are_hidden_however_deep_its_brackets_are(depth: int) -> None:
    shown = shown_text(f"Seen.\n\n![{'[' * depth}a{']' * depth} HIDDEN](u)\n\nSeen, too.")
    assert "HIDDEN" not in shown.text
    assert ("Seen." in shown.text, "Seen, too." in shown.text) == (True, True)


@pytest.mark.parametrize(
    "part",
    [
        "<!--", "![[", "[a", "<a ", "a <!-- b\n", "```\n", '[x]: u "\n', '<a "', '[a](b  "',
        "![](("  , "<a '\"", "[x](<       ", "[x]:\n", "[x]: y       ", "[x]: y '\\a", "</",
        "a<!--", "a<!---->", "[^a", "%", "\\def", "$%", "](a(", "![a](b(", '<div a="', "- ```\n",
        "|-|-|\n", "<pre>\n</", "> ~~~mermaid\n", "`a``b```c", "<rp>", "http://",
    ],
)  # fmt: skip
def test_no_text_takes_long(part: str) -> None:
    text = (part * MOST_CHARACTERS)[: MOST_CHARACTERS // 4]
    began = time.process_time()
    shown_text(text)
    whole = time.process_time() - began
    shown_text(text[: len(text) // 8])
    eighth = time.process_time() - began - whole
    # Eight times as long a text may take eight times as long, and not 64 times. Three times that is
    # room for the collection of garbage, which what other tests have left makes longer.
    assert whole < max(0.5, 24 * eighth)
