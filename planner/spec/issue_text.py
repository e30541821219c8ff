"""Makes the text of a specification from an issue of a forge. Pure.

What a reader of the issue cannot see is left out and counted: a person who agreed to an issue has
not agreed to what was hidden in it. The measure is GitHub: what it strips, ignores or draws as a
picture is hidden. Where it depends on a whole parser of Markdown whether a text is shown, it counts
as hidden, except in code that no reading can mistake.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
    head = _shown_title(title)
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
    # A line that begins with tildes would be a block of code when it is read again.
    return " ".join(shown_text(text).text.split()).lstrip("~ ")


def _shown_title(title: str) -> str:
    """Return a title as one line of a heading; hosts show it as it is written, tags too."""
    text = "".join(_visible(_LINE_ENDS.sub(" ", title), Counter()))
    return _OF_A_PROMPT.sub("&lt;", text).strip().lstrip("#").strip()


def _says_something(text: str) -> bool:
    return any(each.isalnum() for each in text.replace(_NO_IMAGE, ""))


_LINE_ENDS: Final = re.compile(r"\r\n?|\n")
_NO_IMAGE: Final = "[a picture, not read]"
# Marks that show nothing and are no control characters: fillers, selectors, joiners of graphemes.
_BLANK_MARKS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS: Final = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_INVISIBLE_KINDS: Final = frozenset(("Cc", "Cf", "Co", "Cs", "Cn"))
# Signs of our own within a text; a text that was read has no control characters any more.
_DOUBT: Final = "\0"
"""A hidden part with a backquote was here: whether what follows it is code is not certain."""
_HTML: Final = "\3"
"""A comment was at the beginning of this line, so the line is HTML."""
_UNSEEN, _SEEN_AGAIN = "\1", "\2"
"""Begin and end the content of a tag that no browser shows."""
_UNSEEN_ALL: Final = "\4"
_CONTENT: Final = re.compile(
    f"{_UNSEEN}[^{_SEEN_AGAIN}{_UNSEEN_ALL}]*+{_SEEN_AGAIN}?+|{_UNSEEN_ALL}.*", re.DOTALL
)
_SIGNS: Final = dict.fromkeys(map(ord, (_DOUBT, _HTML, _UNSEEN, _SEEN_AGAIN, _UNSEEN_ALL)))

_ENDS: Final = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "<!": ">"}
_BEGINS: Final = re.compile(r"<!--|<\?|<!\[CDATA\[|<!(?=[A-Za-z])")
_MARKERS: Final = r"[ \t>*+\-\d.)\[\]xX]*+"
# Only marks of quotes and lists come before: such a part goes on over empty lines.
_NOTHING_BEFORE: Final = re.compile(r"[\s>*+\-\d.)\[\]xX]*")

_CONTAINERS: Final = re.compile(r"(?: *(?:>|(?:[-*+]|\d{1,9}[.)])(?= )))* *")
_FENCE: Final = re.compile(
    r"([ \t>*+\-\d.)]*+)(`{3,}+(?=[^`]*$)|~{3,}+)([ \t]*)(\S*)(.*)", re.DOTALL
)
_LONGEST_WORD: Final = 40
_DRAWN: Final = frozenset(("mermaid", "math", "geojson", "topojson", "stl"))
"""The languages of blocks that GitHub draws: comments in them and more are not seen."""
_FURTHER_IN: Final = re.compile(r" +|(?: *(?:[-*+]|\d{1,9}[.)]) +)+")
_RAW: Final = re.compile(rf"{_MARKERS}<[A-Za-z/!?]")
_RAW_TO_ITS_END: Final = re.compile(r" {0,3}<(pre|script|style|textarea)\b", re.IGNORECASE)
_MAY_HIDE_CODE: Final = re.compile(
    rf"{_MARKERS}<(?:pre|script|style|textarea)\b|[ \t>*+\-\d.)]*+\[\^[^\]]*\]:", re.IGNORECASE
)
_CODE: Final = r"(?<![`$])(?P<ticks>`++)(?:[^`\n]|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)(?!`)"
_IN_CODE: Final = re.compile(_CODE)
_MISTAKABLE: Final = ("\\", "<", "](", "://", "www.")

# As CommonMark has it: what it does not read as a tag is shown as it is written.
_ATTRIBUTE: Final = r"\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++))?+"
_TAG: Final = (
    r"<(?P<closing>/)?+(?P<name>[A-Za-z][A-Za-z0-9-]*+)"
    rf"(?(closing)|(?:{_ATTRIBUTE})*+)\s*+(?(closing)|/?+)>"
)
_BLOCKS: Final = (
    r"address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    r"dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|"
    r"hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|"
    r"search|section|source|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_RAW_BLOCK: Final = re.compile(
    rf"^(?P<line>{_HTML})|^{_MARKERS}(?:<(?P<whole>pre|script|style|textarea)(?![A-Za-z0-9-])"
    rf"|</?(?:{_BLOCKS})(?=[\s/>]|$)"
    rf"|</?[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+\s*+/?+>[ \t]*$)",
    re.MULTILINE | re.IGNORECASE | re.ASCII,
)
# A block of HTML is read as a browser does, which takes more for a tag.
_VALUE: Final = r"=\s*+(?:\"[^\"]*+(?:\"|(?P<open>\Z))|'[^']*+(?:'|(?P<open_too>\Z)))"
_RAW_TAG: Final = re.compile(
    rf"<(?P<closing>/)?+(?P<name>[A-Za-z][A-Za-z0-9-]*+)(?:{_VALUE}|[^>])*+(?:>|\Z)"
)
_RAW_TAG_BEGINS: Final = re.compile(r"</?[A-Za-z]")
_EMPTY_LINE: Final = re.compile(r"\n[ \t]*\n")
_PARAGRAPHS: Final = re.compile(r"(\n(?:[ \t>]*\n)+)")
_IMAGE_TAGS: Final = frozenset(("img", "picture", "video", "svg", "embed", "object"))
_TITLE: Final = r"(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\))"
_IN_ADDRESS: Final = re.compile(r"\\\S|[()\s]", re.ASCII)
_ADDRESS_IN_ANGLES: Final = re.compile(r"\s*+<((?:[^<>\n\\]|\\.)*+)>")
_NO_BLANK: Final = re.compile(r"\S")
_ITS_LABEL: Final = re.compile(r"\[[^\[\]]*+\]")
_AFTER_ADDRESS: Final = re.compile(rf"(?P<title>\s++{_TITLE})?+\s*+\)", re.ASCII | re.DOTALL)
_MOST_PARENTHESES: Final = 32
_ALT: Final = r"[^\[\]\\]|\\."


def _brackets(depth: int) -> str:
    """Return a pattern of brackets with brackets in them, so deep at most."""
    return rf"\[(?:{_ALT}|{_brackets(depth - 1)})*+\]" if depth else rf"\[(?:{_ALT})*+\]"


_BRACKETS: Final = _brackets(8)
_GAP: Final = r"[ \t]*+(?:\n[ \t]*+)?+"
_DEFINITION: Final = (
    r"^[ \t>*+\-\d.)]*\[(?!\^)(?P<defined>[^\[\]]{1,999})\]:"
    rf"{_GAP}(?:<[^<>\n]*+>|(?!<)\S++)(?:{_GAP}{_TITLE})?[ \t]*+$"
)
_NOTE: Final = r"[ \t>*+\-\d.)]*+\[\^(?P<note>[^\]\s]{1,200}+)\]:"
# Words that put something into a formula which is not seen, up to the end of the formula.
_MATH: Final = (
    r"\\(?:[hv]?phantom|(?:text)?color|f?colorbox|href|label|class|cssId|style|[rl]lap|def|let|"
    r"(?:re)?newcommand|(?:math|text)tip)(?![A-Za-z])|%"
)
_TOKENS: Final = {
    "definition": _DEFINITION,
    "begun": rf"^{_NOTE}",
    "code": _CODE,
    "math": _MATH,
    "escape": r"\\[!-/:-@\[-`{-~]",
    "url": r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+>|(?:https?://|ftp://|www\.)[^\s<\[\]()$!]*+",
    "image": rf"!\[(?P<alt>(?:{_ALT}|{_BRACKETS})*+)\]",
    "link": r"\]\(",
    "reference": r"(?<=\])\[(?P<label>[^\[\]]{1,999})\]",
    "footnote": r"(?<!!)\[\^(?P<named>[^\]\s]{1,200}+)\](?![(\[:])",
    "tag": _TAG,
}
_FLAGS: Final = re.MULTILINE | re.IGNORECASE | re.ASCII | re.DOTALL
_TOKEN: Final = re.compile("|".join(f"(?P<{k}>{v})" for k, v in _TOKENS.items()), _FLAGS)
_DEFINED: Final = re.compile(_DEFINITION, _FLAGS)
# A footnote goes on in lines further in, and in such that begin nothing of their own.
_FOOTNOTE: Final = re.compile(
    rf"^{_NOTE}[^\n]*(?:\n(?:[ \t]*\n)*(?: {{4}}|\t)[^\n]*"
    r"|\n(?=[^\n]*[^\s\n])(?![#>]|[-*+][ \t]|\d+[.)]|\[\^)[^\n]*)*",
    re.MULTILINE,
)
_DASHES: Final = r"[ \t]*+:?+-++:?+[ \t]*+"
_DELIMITERS: Final = re.compile(
    rf"^[ \t>]*+(?=[^\n]*[|:])\|?+({_DASHES}(?:\|{_DASHES})*+)\|?+[ \t]*+$", re.MULTILINE
)
# The prompts mark their parts by tags with an underscore, which HTML has none of.
_OF_A_PROMPT: Final = re.compile(r"<(?=/?[A-Za-z]+_[A-Za-z_]{1,40}\s*>)")


def shown_text(source: str) -> ShownText:
    """Return what of a Markdown text a reader sees; blocks of code are kept as they are."""
    counts: Counter[str] = Counter()
    text = "".join(_visible(_LINE_ENDS.sub("\n", source), counts))
    parts = [
        (is_code, "\n".join(lines)) for is_code, lines in _split(text.split("\n"), counts) if lines
    ]
    defined = (found["defined"] for is_code, part in parts if not is_code
               for found in _DEFINED.finditer(part))  # fmt: skip
    reading = _Reading(counts, frozenset(map(_label, defined)))
    parts = [(is_code, part if is_code else reading.part(part)) for is_code, part in parts]
    text = "\n".join(part if is_code else reading.without_notes(part) for is_code, part in parts)
    text, silent = _CONTENT.subn("", text)
    counts["content"] += silent
    text = _OF_A_PROMPT.sub("&lt;", text.translate(_SIGNS))
    names = ((number, *_NAMES[kind]) for kind, number in sorted(counts.items()) if number)
    return ShownText(text, tuple(f"{n:,} {one if n == 1 else many}" for n, one, many in names))


_NAMES: Final = {
    "address": ("address of a link with words in it", "addresses of links with words in them"),
    "cell": ("row with cells beyond its table", "rows with cells beyond their table"),
    "comment": ("hidden comment", "hidden comments"),
    "content": ("hidden content of a tag", "hidden contents of tags"),
    "definition": ("definition of a link", "definitions of links"),
    "footnote": ("footnote that nothing refers to", "footnotes that nothing refers to"),
    "formula": ("hidden part of a formula", "hidden parts of formulas"),
    "image": ("picture", "pictures"),
    "info": ("note beside the language of a block", "notes beside the languages of blocks"),
    "invisible": ("invisible character", "invisible characters"),
    "label": ("label of a link", "labels of links"),
    "rest": ("rest of a paragraph", "rests of paragraphs"),
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

    Code is a fence that begins in the first column and outside of HTML, and one further in where
    every reading of the lines makes them code. Other fences may end with the list that they are in.
    """
    text: list[str] = []
    end = raw = doubt = ""
    index = begun = 0
    in_html = False
    while index < len(lines):
        line = lines[index]
        fence = _FENCE.fullmatch(line) if not end else None
        if fence is not None and (part := _code_at(lines, index, fence, raw, doubt, counts)):
            code, index = part
            yield False, text
            yield True, code
            text, doubt = [], "" if not fence[1] else doubt
            continue
        was_raw, raw = raw, _still_raw(line, raw or (" " if end else ""))
        doubt = _doubt(line, doubt)
        before = end
        is_html = bool(raw or was_raw or _RAW.match(line))
        kept, end = _without_hidden(lines, index, end, is_html, counts)
        begun, in_html = (begun, in_html) if before else (index, bool(was_raw))
        if before and not end:
            kept = (kept or "") + _after_hidden(lines[begun : index + 1], in_html=in_html)
        if kept is not None:
            text.append(_without_info(kept, counts))
        index += 1
    yield False, text


def _code_at(
    lines: Sequence[str], index: int, fence: re.Match[str], raw: str, doubt: str,
    counts: Counter[str],
) -> tuple[list[str], int] | None:  # fmt: skip
    """Return the lines of the block that begins here, and where it ends; `None` for no such block.

    A block that GitHub draws is a picture, wherever it is, up to where it surely ends.
    """
    stop = 0
    if not raw:
        is_first = not fence[1]
        stop = _end_of_fence(lines, index, fence[2]) if is_first else 0
        stop = stop or (0 if doubt else _end_further_in(lines, index, fence))
    if fence[4].lower() in _DRAWN:
        counts["image"] += 1
        closing = re.compile(rf"[ \t>]{{0,{len(fence[1])}}}{fence[2][0]}{{{len(fence[2])},}}[ \t]*")
        ends = (n + 1 for n in range(index + 1, len(lines)) if closing.fullmatch(lines[n]))
        return [_NO_IMAGE], stop or next(ends, len(lines))
    if not stop:
        return None
    return [_without_info(lines[index], counts), *lines[index + 1 : stop]], stop


def _end_further_in(lines: Sequence[str], index: int, fence: re.Match[str]) -> int:
    """Return where a fence within a list ends; 0 where a reading of its lines makes them text."""
    column = len(fence[1])
    if fence[2][0] != "`" or not _FURTHER_IN.fullmatch(fence[1]):
        return 0
    for number in range(index + 1, len(lines)):
        line = lines[number]
        if line.strip(" \t") and not line.startswith(" " * column):
            return 0
        if fence[2] in line:
            return number + 1 if line[column:].rstrip() == fence[2] else 0
    return 0


def _without_info(line: str, counts: Counter[str]) -> str:
    """Return a line without what follows the language of a block that begins in it."""
    fence = _FENCE.fullmatch(line)
    if fence is None or (not fence[5].strip() and len(fence[4]) <= _LONGEST_WORD):
        return line
    counts["info"] += 1
    word = fence[4] if len(fence[4]) <= _LONGEST_WORD else ""
    return f"{fence[1]}{fence[2]}{fence[3]}{word}"


def _doubt(line: str, doubt: str) -> str:
    """Return why a fence further in may be no code: "always", or " " up to an empty line."""
    if doubt == "always" or _MAY_HIDE_CODE.match(line):
        return "always"
    if not line.strip(" \t"):
        return ""
    mistakable = "`" in line and (
        any(each in line for each in _MISTAKABLE) or "`" in _IN_CODE.sub("", line)
    )
    return " " if doubt or mistakable else ""


def _still_raw(line: str, raw: str) -> str:
    """Return what ends the block of HTML that a line is in: a tag, or " " for an empty line."""
    if raw.strip():
        return "" if raw in line.lower() else raw
    if found := _RAW_TO_ITS_END.match(line):
        end = f"</{found[1].lower()}>"
        return "" if end in line.lower() else end
    return " " if line.strip(" \t") and (raw or _RAW.match(line)) else ""


def _end_of_fence(lines: Sequence[str], begin: int, mark: str) -> int:
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    for index in range(begin + 1, len(lines)):
        if closing.fullmatch(lines[index]):
            return index + 1
    return len(lines)


def _without_hidden(
    lines: Sequence[str], index: int, end: str, is_html: bool, counts: Counter[str]
) -> tuple[str | None, str]:
    """Return what a line shows, and what ends the hidden part that goes on after it.

    The result has `None` for a line that is hidden whole.
    """
    line, sign = lines[index], _HTML if end else ""
    if end:
        _, found, rest = line.partition(end)
        if not found:
            return None, end
        # The line may as well begin a block of code, and this be what nobody sees of its beginning.
        line = rest if _FENCE.fullmatch(line) is None else ""
    kept: list[str] = []
    position = at = 0
    open_ones: set[str] = set()  # what ends nowhere: to look for it again would take long
    while begun := _BEGINS.search(line, at):
        close = _ENDS[begun[0]]
        stop = -1 if close in open_ones else line.find(close, begun.end())
        if stop >= 0:
            counts["comment"] += 1
            at = stop + len(close)
            doubt = _DOUBT if "`" in line[begun.start() : at] else ""
            if _NOTHING_BEFORE.fullmatch(line, position, begun.start()) and not kept:
                sign = _HTML
            kept += line[position : begun.start()], doubt
            position = at
            continue
        if close not in open_ones:
            before = "".join((sign, *kept, line[position : begun.start()]))
            is_hidden = is_html or _NOTHING_BEFORE.fullmatch(before.lstrip(_HTML))
            if is_hidden or _closes(lines, index + 1, close):
                counts["comment"] += 1
                return before, close
            open_ones.add(close)
        at = begun.end()  # it is shown as it is written
    return "".join((sign, *kept, line[position:])), ""


def _after_hidden(lines: Sequence[str], *, in_html: bool) -> str:
    """Return the sign for what comes after a hidden part that went over these lines.

    Where the quote, list or block that it began in ended before it, its end is none to a browser,
    and hides nothing less than the rest.
    """
    first, *others = lines
    marks = _CONTAINERS.match(first)
    assert marks is not None, "the pattern may be empty"
    is_quoted, is_inline = ">" in marks[0], _BEGINS.match(first, marks.end()) is None
    may_be_empty = not (in_html or is_quoted or is_inline)
    inside = ">" if is_quoted else " " * marks.end() if marks[0].strip() else ""
    for each in others:
        is_inside = is_inline or each.startswith(inside)
        if not (is_inside if each.strip(" \t") else may_be_empty):
            return _UNSEEN_ALL
    return _DOUBT if any("`" in each for each in lines) else ""


def _closes(lines: Sequence[str], begin: int, close: str) -> bool:
    """Say whether a part that began in the midst of a paragraph ends in that paragraph."""
    for line in lines[begin : begin + _LONGEST_PARAGRAPH]:
        if not line.strip(" \t"):
            return False
        if close in line:
            return True
    return False


_LONGEST_PARAGRAPH: Final = 50  # lines


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


def _target(text: str, begin: int) -> tuple[str, str, int] | None:
    """Return the address and the title of a link, and where it ends; `None` where it is none."""
    if angles := _ADDRESS_IN_ANGLES.match(text, begin):
        address, end = angles[1], angles.end()
    else:
        begin = first.start() if (first := _NO_BLANK.search(text, begin)) else begin
        depth, end = 0, len(text)
        for mark in _IN_ADDRESS.finditer(text, begin):
            depth += {"(": 1, ")": -1}.get(mark[0], 0)
            if depth < 0 or depth > _MOST_PARENTHESES or mark[0].isspace():
                end = mark.start()
                break
        if depth > 0:
            return None
        address = text[begin:end]
    after = _AFTER_ADDRESS.match(text, end)
    return (address, after["title"] or "", after.end()) if after is not None else None


@dataclass(slots=True)
class _Reading:
    """Hold what is known of a text while the parts of it that are no code are read.

    `labels` are those of definitions of links, and `notes` the footnotes that something refers to.
    """

    counts: Counter[str]
    labels: frozenset[str]
    notes: set[str] = field(default_factory=set)

    def part(self, text: str) -> str:
        """Return a part without what is not shown of it: blocks of HTML, and paragraphs."""
        kept: list[str] = []
        position = 0
        while begun := _RAW_BLOCK.search(text, position):
            kept.append(self._paragraphs(text[position : begun.start()]))
            block, position = self._raw(text, begun)
            kept.append(block)
        return "".join((*kept, self._paragraphs(text[position:])))

    def _raw(self, text: str, begun: re.Match[str]) -> tuple[str, int]:
        """Return what a block of HTML shows, and where it ends.

        A value in it that is not closed hides all that comes afterwards.
        """
        ends = _LINE_ENDS if begun["line"] else _EMPTY_LINE
        if begun["whole"]:
            ends = re.compile(rf"</{begun['whole']}[^\n]*", re.IGNORECASE)
        end = ends.search(text, begun.start())
        stop = len(text) if end is None else end.end() if begun["whole"] else end.start()
        kept: list[str] = []
        position = begun.start()
        while begins := _RAW_TAG_BEGINS.search(text, position, stop):
            found = _RAW_TAG.match(text, begins.start(), stop)
            assert found is not None, "the pattern ends anywhere"
            is_open = found["open"] is not None or found["open_too"] is not None
            kept += text[position : begins.start()], self._tag(found), _UNSEEN_ALL * is_open
            position = found.end()
        kept.append(text[position:stop])
        return "".join(kept), stop

    def _paragraphs(self, text: str) -> str:
        pieces = enumerate(_PARAGRAPHS.split(text))
        return "".join(each if n % 2 else self._paragraph(each) for n, each in pieces)

    def _paragraph(self, text: str) -> str:
        """Return what a paragraph shows: it is read from left to right, as a parser does.

        Code is kept while every backquote before it has its partner in the same line. A tag or a
        link with a backquote or over lines may be none: what follows it is left out as well.
        """
        is_table = _DELIMITERS.search(text) is not None
        text = self._within_table(text) if is_table else text
        kept: list[str] = []
        is_certain, refers = True, not text.startswith(("    ", "\t"))
        last = text.rfind("$")  # -1 where there is no formula, which nothing is before
        sums = text.find("$"), text.find("$$") if "$$" in text else last, last
        position = 0
        while found := _TOKEN.search(text, position):
            before, token, kind = text[position : found.start()], found[0], found.lastgroup
            if "`" in before or _DOUBT in before + token or (kind == "url" and "`" in token):
                is_certain = False
            if kind == "code" and (not is_certain or (is_table and "|" in token)):
                is_certain, token = False, found["ticks"]
            refers = refers and is_certain and kind != "begun"
            if kind == "footnote" and refers:
                self.notes.add(_label(found["named"]))
            shown, position = self._token(found, token, sums)
            kept += before, shown
            token = text[found.start() : position]
            if kind in _OVER_ALL and ("`" in token or "\n" in token) and text[position:].strip():
                self.counts["rest"] += 1
                return "".join(kept)
        return "".join((*kept, text[position:]))

    def _token(
        self, found: re.Match[str], token: str, sums: tuple[int, int, int]
    ) -> tuple[str, int]:
        """Return what a part of a paragraph shows, and where to read on.

        `sums` is where the first formula and the first block of one may begin, and the last ends.
        """
        at, end = found.start(), found.end()
        match found.lastgroup:
            case "definition":
                return self._dropped("definition"), end
            case "tag":
                return self._tag(found), end
            case "image":
                return self._picture(found)
            case "link":
                return self._link(found)
            case "reference" if _label(found["label"]) in self.labels:
                return self._dropped("label"), end
            case "reference":
                return "[", at + 1
            case "math" if sums[token.startswith("%")] < at < sums[2]:
                return self._dropped("formula"), found.string.find("$", end)
            case _:
                return token, at + len(token)

    def _dropped(self, kind: str, left: str = "") -> str:
        self.counts[kind] += 1
        return left

    def _picture(self, found: re.Match[str]) -> tuple[str, int]:
        text, end = found.string, found.end()
        if text.startswith("(", end) and (target := _target(text, end + 1)):
            return self._dropped("image", _NO_IMAGE), target[2]
        if (label := _ITS_LABEL.match(text, end)) or _label(found["alt"]) in self.labels:
            return self._dropped("image", _NO_IMAGE), label.end() if label else end
        return "![", found.start() + 2

    def _link(self, found: re.Match[str]) -> tuple[str, int]:
        """Return what a link shows from its address on, and where it ends."""
        text, begin = found.string, found.start()
        target = _target(text, found.end())
        if target is None:
            return "](", begin + 2
        address, title, end = target
        first, *others = address.split() or [""]
        self.counts["title"] += bool(title)
        self.counts["address"] += bool(others)
        return f"]({first})" if title or others else text[begin:end], end

    def _tag(self, found: re.Match[str]) -> str:
        name, closing = found["name"].lower(), found["closing"] is not None
        if name in _IMAGE_TAGS and not closing:
            return self._dropped("image", _NO_IMAGE)
        sign = _SEEN_AGAIN if closing else _UNSEEN
        return self._dropped("tag", sign if name == "rp" else "")

    def _within_table(self, text: str) -> str:
        """Return a paragraph with a table without what is in no column of it."""
        lines = text.split("\n")
        row: re.Pattern[str] | None = None
        for index, line in enumerate(lines):
            if found := _DELIMITERS.fullmatch(line):
                columns = found[1].count("|") + 1
                row = re.compile(rf"[ \t>]*+\|?+(?:(?:[^|\\]|\\.)*+\|){{{columns}}}")
            elif row is not None and (cells := row.match(line)) and line[cells.end() :].strip():
                lines[index] = line[: cells.end()]
                self.counts["cell"] += 1
        return "\n".join(lines)

    def without_notes(self, text: str) -> str:
        """Return a part without the footnotes that nothing refers to."""

        def note(found: re.Match[str]) -> str:
            name = _label(found["note"])
            if name in self.notes:
                self.notes.remove(name)  # of two notes with one name only the first is shown
                return found[0]
            return self._dropped("footnote")

        return _FOOTNOTE.sub(note, text)


_OVER_ALL: Final = frozenset(("definition", "tag", "image", "link"))
