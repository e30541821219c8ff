"""Makes the text of a specification from an issue of a forge. Pure.

What a reader of the issue cannot see is left out and counted: a person who agreed to an issue has
not agreed to what was hidden in it. Where it depends on a whole parser of Markdown whether a text
is shown, it counts as hidden, except in blocks of code that no reading can mistake.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shared.errors import InvalidInput

MOST_CHARACTERS: Final = 100_000
"""GitHub lets an issue have 65,536, GitLab a million."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """Hold the text that a reader of an issue sees, and in words what was left out of it."""

    text: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """Hold one remark of a review: its id, what it says, and the place that it is about."""

    id: str
    text: str
    place: str = ""


def spec_of_issue(title: str, body: str, named: str) -> ShownText:
    """Return the specification that an issue is; without a body its title is the one demand.

    Raises `InvalidInput`, which begins with `named`, for a text that is too long, for one of
    pictures alone, and for an issue that says nothing.
    """
    size = len(title) + len(body)
    if size > MOST_CHARACTERS:
        raise InvalidInput(
            f"{named} has {size:,} characters, at most {MOST_CHARACTERS:,} are read",
            "shorten it, or put the specification into a file and give that to --spec",
        )
    head = _LINE_ENDS.sub(" ", shown_text(title).text).strip().lstrip("#").strip()
    shown = shown_text(body)
    text = shown.text.strip()
    if not _says_something(text):
        if _NO_IMAGE in text:
            raise InvalidInput(
                f"{named} has nothing but pictures, and these are not read",
                "say in words what they show",
            )
        text = f"- {head}"
    if not _says_something(head) and not _says_something(text):
        raise InvalidInput(f"{named} says nothing", "say in it what is to be done")
    return ShownText(f"# {head}\n\n{text}\n", shown.left_out)


def with_remarks(spec: str, remarks: Sequence[Remark]) -> str:
    """Return a specification with the remarks of reviews as requirements of their own."""
    if not remarks:
        return spec
    lines = (
        f"- {each.id}: {f'In `{each.place}`: ' if each.place else ''}{remark_line(each.text)}"
        for each in remarks
    )
    return "\n".join((spec.rstrip(), "", "## Asked for in review", "", *lines, ""))


def remark_line(text: str) -> str:
    """Return what a comment says as one line, so that none of it begins a heading or a list."""
    return " ".join(shown_text(text).text.split())


def _says_something(text: str) -> bool:
    return any(each.isalnum() for each in text.replace(_NO_IMAGE, ""))


_LINE_ENDS: Final = re.compile(r"\r\n?|\n")
_NO_IMAGE: Final = "[a picture, not read]"
# Marks that show nothing and are no control characters: fillers, selectors, joiners of graphemes.
_BLANK_MARKS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS: Final = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_INVISIBLE_KINDS: Final = frozenset(("Cc", "Cf", "Co", "Cs", "Cn"))
_FENCE: Final = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ENDS: Final = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "<!": ">"}
_BEGINS: Final = re.compile(r"<!--|<\?|<!\[CDATA\[|<!(?=[A-Za-z])")
# Only marks of quotes and lists come before: such a part goes on over empty lines.
_NOTHING_BEFORE: Final = re.compile(r"[\s>*+\-\d.)\[\]xX]*")
_RAW: Final = re.compile(r" {0,3}<")
_RAW_TO_ITS_END: Final = re.compile(r" {0,3}<(pre|script|style|textarea)\b", re.IGNORECASE)
_TAG: Final = re.compile(
    r"</?(?:a|abbr|b|blockquote|br|caption|center|cite|code|col|colgroup|dd|del|details|dfn|div|dl|"
    r"dt|em|embed|figcaption|figure|font|form|h[1-6]|hr|i|iframe|img|input|ins|kbd|li|link|mark|"
    r"math|meta|noembed|noframes|noscript|object|ol|p|picture|plaintext|pre|q|rp|rt|ruby|s|samp|"
    r"script|small|source|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|"
    r"textarea|tfoot|th|thead|time|title|tr|tt|u|ul|var|video|wbr|xmp)"
    r"(?=[\s/>])(?:[^<>\"']|\"[^\"]{0,9999}\"|'[^']{0,9999}'){0,9999}>",
    re.IGNORECASE,
)
_IMAGE_TAG: Final = re.compile(r"<(?:img|picture|video|svg|embed|object)\b", re.IGNORECASE)
_IMAGE: Final = re.compile(
    r"!\[[^\]]{0,999}\](?:\([^()\n]{0,2000}(?:\([^()\n]{0,999}\))?[^()\n]{0,999}\)|\[[^\]\n]{0,999}\])"
)
_LINK: Final = re.compile(
    r"\]\([ \t]*<?([^\s()<>]{0,2000})>?[ \t\n]{1,99}"
    r"(?:\"[^\"]{0,9999}\"|'[^']{0,9999}'|\([^()]{0,9999}\))[ \t]*\)"
)
_TITLE: Final = (
    r"(?:\"(?:[^\"\\\n]|\\.|\n(?!\s{0,99}\n)){0,9999}\"|'(?:[^'\\\n]|\\.|\n(?!\s{0,99}\n)){0,9999}'"
    r"|\((?:[^()\\\n]|\\.|\n(?!\s{0,99}\n)){0,9999}\))"
)
_GAP: Final = r"[ \t]{0,99}(?:\n[ \t]{0,99})?"
_DEFINITION: Final = re.compile(
    rf"^[ >*+\-]{{0,9}}\[(?!\^)[^\[\]]{{1,999}}\]:"
    rf"{_GAP}\S{{1,2000}}(?:{_GAP}{_TITLE})?[ \t]{{0,99}}$",
    re.MULTILINE,
)
# The prompts mark their parts by tags with an underscore, which HTML has none of.
_OF_A_PROMPT: Final = re.compile(r"<(?=/?[A-Za-z]+_[A-Za-z_]{1,40}\s*>)")


def shown_text(source: str) -> ShownText:
    """Return what of a Markdown text a reader sees; blocks of code are kept as they are."""
    counts: Counter[str] = Counter()
    text = "".join(_visible(_LINE_ENDS.sub("\n", source), counts))
    parts: list[str] = []
    for is_code, lines in _split(text.split("\n"), counts):
        part = "\n".join(lines)
        parts.append(part if is_code else _plain(part, counts))
    text = _OF_A_PROMPT.sub("&lt;", "\n".join(parts))
    names = ((number, *_NAMES[kind]) for kind, number in sorted(counts.items()))
    return ShownText(text, tuple(f"{n:,} {one if n == 1 else many}" for n, one, many in names))


_NAMES: Final = {
    "comment": ("hidden comment", "hidden comments"),
    "definition": ("definition of a link", "definitions of links"),
    "image": ("picture", "pictures"),
    "invisible": ("invisible character", "invisible characters"),
    "tag": ("HTML tag", "HTML tags"),
    "title": ("title of a link", "titles of links"),
}


def _visible(text: str, counts: Counter[str]) -> Iterator[str]:
    for each in text:
        if each.isascii():
            unseen = not (each.isprintable() or each in "\n\t")
        else:
            unseen = (
                unicodedata.category(each) in _INVISIBLE_KINDS
                or each in _BLANK_MARKS
                or ord(each) in _SELECTORS
            )
        if unseen:
            counts["invisible"] += 1
        else:
            yield each


def _split(lines: Sequence[str], counts: Counter[str]) -> Iterator[tuple[bool, list[str]]]:
    """Yield the parts of a text that are code, and the others without their hidden parts.

    Code is a fence that begins in the first column and outside of HTML. A fence further in may end
    with the list that it is in, and an HTML block may have begun before it.
    """
    text: list[str] = []
    end = raw = ""
    index = 0
    while index < len(lines):
        line = lines[index]
        fence = _FENCE.match(line) if not end and not raw else None
        if fence is not None:
            stop = _end_of_fence(lines, index, fence[1] or fence[2])
            yield False, text
            yield True, [*lines[index:stop]]
            text, index = [], stop
            continue
        raw = _still_raw(line, raw or (" " if end else ""))
        kept, end = _without_hidden(lines, index, end, counts)
        if kept is not None:
            text.append(kept)
        index += 1
    yield False, text


def _still_raw(line: str, raw: str) -> str:
    """Return what ends the block of HTML that a line is in: a tag, or " " for an empty line."""
    if raw.strip():
        return "" if raw in line.lower() else raw
    if found := _RAW_TO_ITS_END.match(line):
        end = f"</{found[1].lower()}>"
        return "" if end in line.lower() else end
    return " " if line.strip() and (raw or _RAW.match(line)) else ""


def _end_of_fence(lines: Sequence[str], begin: int, mark: str) -> int:
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    for index in range(begin + 1, len(lines)):
        if closing.fullmatch(lines[index]):
            return index + 1
    return len(lines)


def _without_hidden(
    lines: Sequence[str], index: int, end: str, counts: Counter[str]
) -> tuple[str | None, str]:
    """Return what a line shows, and what ends the hidden part that goes on after it.

    The result has `None` for a line that is hidden whole.
    """
    line = lines[index]
    if end:
        _, found, rest = line.partition(end)
        if not found:
            return None, end
        line = rest
    position = 0
    while begun := _BEGINS.search(line, position):
        at, close = begun.start(), _ENDS[begun[0]]
        stop = line.find(close, begun.end())
        if stop >= 0:
            counts["comment"] += 1
            line = line[:at] + line[stop + len(close) :]
            position = at
        elif _NOTHING_BEFORE.fullmatch(line, 0, at) or _closes(lines, index + 1, close):
            counts["comment"] += 1
            return line[:at], close
        else:  # it is shown as it is written
            position = begun.end()
    return line, ""


def _closes(lines: Sequence[str], begin: int, close: str) -> bool:
    """Say whether a part that began in the midst of a paragraph ends in that paragraph."""
    for line in lines[begin : begin + _LONGEST_PARAGRAPH]:
        if not line.strip():
            return False
        if close in line:
            return True
    return False


_LONGEST_PARAGRAPH: Final = 50  # lines


def _plain(text: str, counts: Counter[str]) -> str:
    """Return a text without pictures, tags, and what belongs to links and is not shown."""

    def image(found: re.Match[str]) -> str:
        counts["image"] += 1
        return _NO_IMAGE

    def tag(found: re.Match[str]) -> str:
        if _IMAGE_TAG.match(found[0]):
            return image(found)
        counts["tag"] += 1
        return ""

    text, definitions = _DEFINITION.subn("", text)
    text = _TAG.sub(tag, _IMAGE.sub(image, text))
    text, titles = _LINK.subn(r"](\1)", text)
    counts.update({
        name: number
        for name, number in (("title", titles), ("definition", definitions))
        if number
    })  # fmt: skip
    return text
