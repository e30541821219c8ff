"""Makes the text of a specification from an issue of a forge. Pure.

What a reader of the issue cannot see is left out and counted: a person who agreed to an issue has
not agreed to what was hidden in it. The measure is GitHub: what it strips, ignores or draws as a
picture is hidden. A parser of Markdown says what the lines are; whatever is hidden is cut out of
them, and all else stays as it was written. Where GitHub's parser may read a paragraph differently,
because it follows an older standard, the rest of the paragraph is left out.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from shared.errors import InvalidInput

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

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


def shown_text(source: str) -> ShownText:
    """Return what of a Markdown text a reader sees; blocks of code are kept as they are."""
    counts: Counter[str] = Counter()
    page = _Page("".join(_visible(_LINE_ENDS.sub("\n", source), counts)).split("\n"), counts)
    text, silent = _CONTENT.subn("", page.shown())
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

_LINE_ENDS: Final = re.compile(r"\r\n?|\n")
_NO_IMAGE: Final = "[a picture, not read]"
# Marks that show nothing and are no control characters: fillers, selectors, joiners of graphemes.
_BLANK_MARKS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS: Final = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_INVISIBLE_KINDS: Final = frozenset(("Cc", "Cf", "Co", "Cs", "Cn"))
# Signs of our own within a text; a text that was read has no control characters any more.
_UNSEEN, _SEEN_AGAIN = "\1", "\2"
"""Begin and end the content of a tag that no browser shows."""
_UNSEEN_ALL: Final = "\3"
"""A comment or a value of a tag is not closed: to a browser, all that follows belongs to it."""
_CONTENT: Final = re.compile(
    rf"{_UNSEEN}[^{_SEEN_AGAIN}{_UNSEEN_ALL}]*+{_SEEN_AGAIN}?+|{_UNSEEN_ALL}(?=\s*\S).*", re.DOTALL
)
_SIGNS: Final = dict.fromkeys(map(ord, (_UNSEEN, _SEEN_AGAIN, _UNSEEN_ALL)))
# The prompts mark their parts by tags with an underscore, which HTML has none of.
_OF_A_PROMPT: Final = re.compile(r"<(?=/?[A-Za-z]+_[A-Za-z_]{1,40}\s*>)")


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


@dataclass(frozen=True, slots=True)
class _Cut:
    """Name a part of a text that is not shown, and what stands there instead."""

    begin: int
    end: int
    kind: str
    instead: str = ""


_LONGEST_WORD: Final = 40
_DRAWN: Final = frozenset(("mermaid", "math", "geojson", "topojson", "stl"))
"""The languages of blocks that GitHub draws: comments in them and more are not seen."""
_IMAGE_TAGS: Final = frozenset(("img", "picture", "video", "svg", "embed", "object"))
# A block of HTML is read as a browser does, which takes more for a tag than Markdown does.
_VALUE: Final = r"=\s*+(?:\"[^\"]*+(?:\"|(?P<open>\Z))|'[^']*+(?:'|(?P<open_too>\Z)))"
_HTML: Final = re.compile(
    r"<!--(?:-?>|(?:(?!--!?>).)*+(?:--!?>|(?P<endless>\Z)))|<[!?][^>]*+(?:>|\Z)"
    rf"|</?(?P<name>[A-Za-z][A-Za-z0-9-]*+)(?:{_VALUE}|[^>])*+(?:>|\Z)",
    re.DOTALL,
)
# Words that put something into a formula which is not seen, up to the end of the formula.
_MATH: Final = re.compile(
    r"\\(?:[hv]?phantom|(?:text)?color|f?colorbox|href|label|class|cssId|style|[rl]lap|def|let|"
    r"(?:re)?newcommand|(?:math|text)tip)(?![A-Za-z])|(?<!\\)%"
)
# GitHub makes a link of it, sometimes with the back quote in it.
_URL: Final = re.compile(r"(?:https?://|ftp://|www\.)[^\s<`]*+(`?)", re.IGNORECASE)
# GitHub follows an older standard: the one begins a block of HTML, the other is text.
_OLDER_BLOCK: Final = re.compile(r"^[ \t]*</?source(?=[\s/>]|$)", re.IGNORECASE | re.MULTILINE)
_NEWER_BLOCK: Final = re.compile(r"<![a-z].*", re.DOTALL)
_DASHES: Final = r"[ \t]*+:?+-++:?+[ \t]*+"
_DELIMITERS: Final = re.compile(
    rf"^(?=[^\n]*[|:])\|?+{_DASHES}(?:\|{_DASHES})*+\|?+[ \t]*+$", re.MULTILINE
)
_MARKS: Final = re.compile(r"(?:[ \t>]|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)|\[\^[^\] ]+\]:)*+")
_BETWEEN_CELLS: Final = re.compile(r"[\s|\\]+")


_MOST_NESTED: Final = 100


def _nests_too_deep(text: str) -> bool:
    """Say whether brackets are within nearly as many brackets as the parser looks into."""
    most = _MOST_NESTED - 10
    if text.count("[") < most:
        return False
    depth = accumulate((each == "[") - (each == "]") for each in text if each in "[]")
    return max(depth) >= most


@cache
def _markdown() -> MarkdownIt:
    """Return a parser of what GitHub reads. Its tokens say what of their text is not shown."""
    from markdown_it import MarkdownIt, helpers
    from markdown_it.rules_inline import backtick, html_inline, image, link
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.footnote.index import footnote_ref

    options = {"inline_definitions": True, "maxNesting": _MOST_NESTED}
    parser = MarkdownIt("commonmark", options).enable("table")
    known = {each: getattr(helpers, each) for each in helpers.__all__}
    parser.helpers = cast("Any", SimpleNamespace)(**{**known, "parseLinkLabel": _end_of_label})
    footnote_plugin(parser, inline=False, move_to_end=False)
    # A link is one wherever it leads to.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    rules: dict[str, tuple[_Rule, _Cuts]] = {
        "backticks": (backtick, _code),
        "html_inline": (html_inline, _html),
        "image": (image, _image),
        "link": (link, _link),
        "footnote_ref": (footnote_ref, _reference),
    }
    for name, (rule, cuts) in rules.items():
        parser.inline.ruler.at(name, _watched(rule, cuts))
    return parser


def _end_of_label(state: StateInline, start: int, disable_nested: bool = False) -> int:
    """Return where the label ends that begins at `start`, -1 if it has no end.

    The parser's own function walks to the end of a paragraph from each bracket that is not closed.
    This one is equal, and walks over what it knows of the brackets within.
    """
    ends = cast("dict[tuple[int, bool], int]", state.cache)  # beside the parser's, by position
    if (start, disable_nested) in ends:
        return ends[start, disable_nested]
    before, open_brackets = state.pos, [start]
    state.pos = start + 1
    while state.pos < state.posMax:
        at, mark = state.pos, state.src[state.pos]
        if mark == "]":
            ends[open_brackets.pop(), disable_nested] = at
            if not open_brackets:
                break
        state.md.inline.skipToken(state)
        if mark != "[":
            continue
        end = ends.get((at, disable_nested))
        if state.pos != at + 1:  # a link, or what else begins with a bracket
            if disable_nested:
                break
        elif end is None:
            open_brackets.append(at)
        elif end < 0:
            break
        else:
            state.pos = end + 1
    ends.update(((each, disable_nested), -1) for each in open_brackets)
    state.pos = before
    return ends[start, disable_nested]


_Rule: TypeAlias = "Callable[[StateInline, bool], bool]"
_Cuts: TypeAlias = "Callable[[StateInline, int], list[_Cut]]"


def _watched(rule: _Rule, cuts: _Cuts) -> _Rule:
    """Return a rule that leaves with its last token what of the text since `begin` is cut."""

    def watched(state: StateInline, silent: bool) -> bool:
        begin, before = state.pos, len(state.tokens)
        found = rule(state, silent)
        if found and not silent and len(state.tokens) > before:
            state.tokens[-1].meta["cuts"] = cuts(state, begin)
        return found

    return watched


def _code(state: StateInline, begin: int) -> list[_Cut]:
    """Return the place of code: nothing in it is an address or a formula."""
    return [_Cut(begin, state.pos, "code")]


def _html(state: StateInline, begin: int) -> list[_Cut]:
    text = state.src[begin : state.pos]
    found = _HTML.match(text)
    assert found is not None, "what Markdown takes for a tag, a browser does"
    first = _cut_of(found)
    cuts = [_Cut(begin, state.pos, first.kind, first.instead)]
    if text.startswith("<!") and ("`" in text or text[2].islower()):  # none to an older standard
        cuts.append(_Cut(state.pos, len(state.src), "rest"))
    return cuts


def _cut_of(found: re.Match[str]) -> _Cut:
    kind, instead = "comment", ""
    if name := (found["name"] or "").lower():
        closing = found[0].startswith("</")
        is_picture = name in _IMAGE_TAGS and not closing
        kind, instead = ("image", _NO_IMAGE) if is_picture else ("tag", "")
        if name == "rp":
            instead = _SEEN_AGAIN if closing else _UNSEEN
    if any(found[each] is not None for each in ("endless", "open", "open_too")):
        instead += _UNSEEN_ALL
    return _Cut(found.start(), found.end(), kind, instead)


def _image(state: StateInline, begin: int) -> list[_Cut]:
    return [_Cut(begin, state.pos, "image", _NO_IMAGE)]


def _link(state: StateInline, begin: int) -> list[_Cut]:
    """Return what of a link is not shown: a label of elsewhere, a title, words in an address."""
    helpers, text, end = state.md.helpers, state.src, state.pos
    after = helpers.parseLinkLabel(state, begin, True) + 1
    if end == after:
        return []
    if text[after] == "[":
        return [_Cut(after, end, "label")] if end > after + 2 else []
    position = end - 1 - len(text[after + 1 : end - 1].lstrip())
    found = helpers.parseLinkDestination(text, position, end - 1)
    address, *words = found.str.split() or [""]
    title = text[found.pos if found.ok else position : end - 1].strip()
    kinds = [kind for kind, there in (("title", title), ("address", words)) if there]
    places = ((after, f"({address})"), (end, ""))
    return [_Cut(at, end, kind, left) for (at, left), kind in zip(places, kinds, strict=False)]


def _reference(state: StateInline, begin: int) -> list[_Cut]:
    """Return the rest of a text, where code may begin within the name of a footnote."""
    is_certain = "`" not in state.src[begin : state.pos]
    return [] if is_certain else [_Cut(begin, len(state.src), "rest")]


def _cuts_of(token: Token) -> list[_Cut]:
    """Return what is not shown of a paragraph, a heading or a cell, from its beginning on."""
    text = token.content
    if _nests_too_deep(text):
        return [_Cut(0, len(text), "rest")]
    cuts = [cut for child in token.children or () for cut in child.meta.get("cuts", ())]
    code = [each for each in cuts if each.kind == "code"]
    begins = [each.begin for each in code]

    def is_code(at: int) -> bool:
        index = bisect_right(begins, at) - 1
        return index >= 0 and at < code[index].end and not text.endswith("$", 0, begins[index])

    last = text.rfind("$")  # -1 where there is no formula, which nothing is before
    sums = text.find("$"), text.find("$$") if "$$" in text else last
    hiding = (
        found
        for found in _MATH.finditer(text)
        if sums[found[0] == "%"] < found.start() < last and not is_code(found.start())
    )
    urls = (each for each in _URL.finditer(text) if each[1] and not is_code(each.start()))
    cuts = [each for each in cuts if each.kind != "code"]
    cuts += (_Cut(each.start(), text.find("$", each.end()), "formula") for each in hiding)
    cuts += (_Cut(each.end() - 1, len(text), "rest") for each in urls)
    cuts += (_Cut(each.start(), len(text), "rest") for each in _OLDER_BLOCK.finditer(text))
    return sorted(cuts, key=lambda each: each.begin)


def _without(
    lines: Sequence[str], text: str, cuts: Iterable[_Cut], counts: Counter[str]
) -> list[str]:
    """Return lines without the cuts of the `text` that a parser read from them.

    Marks of quotes and lists before that text stay, and so do lines after it.
    """
    parts = text.split("\n")
    begins = [0, *accumulate(len(each) + 1 for each in parts)]
    shown = list(lines)
    shifts: list[int] = []
    for number, part in enumerate(parts):
        at = lines[number].rfind(part.strip())
        shown[number] = part if at < 0 else lines[number]  # tabs may have become spaces
        inset = len(part) - len(part.lstrip())
        shifts.append((inset if at < 0 else at) - inset - begins[number])
    kept: list[list[str]] = [[] for _ in lines]
    done = [0] * len(lines)
    position = 0
    for cut in cuts:
        begin = max(cut.begin, position)
        if begin > cut.end or (cut.kind == "rest" and not text[begin : cut.end].strip()):
            continue  # another cut has it
        counts[cut.kind] += 1
        position = cut.end
        first = bisect_right(begins, begin) - 1
        for number in range(first, max(first + 1, bisect_right(begins, cut.end - 1))):
            at = max(begin, begins[number]) + shifts[number]
            kept[number] += shown[number][done[number] : at], cut.instead * (number == first)
            last = min(cut.end, begins[number] + len(parts[number]))
            done[number] = max(at, last + shifts[number])
    return ["".join((*kept[n], shown[n][done[n] :])) for n in range(len(lines))]


@dataclass(slots=True)
class _Page:
    """Hold the lines of a text, and by their numbers what is shown of them."""

    lines: Sequence[str]
    counts: Counter[str]
    kept: dict[int, str] = field(default_factory=dict)

    def shown(self) -> str:
        """Return the lines without what is hidden; a line that no block has is hidden, too."""
        tokens = _markdown().parse("\n".join(self.lines))
        unread = {n for n, line in enumerate(self.lines) if not _MARKS.fullmatch(line)}
        self.kept = {n: line for n, line in enumerate(self.lines) if n not in unread}
        cells: list[Token] | None = None
        for token in tokens:
            if token.type == "table_open" and token.map is not None:
                begin = token.map[0] + 1
                unread.difference_update(range(*token.map))
                self._keep(begin, begin + 1, self.lines[begin : begin + 1])  # of dashes
            elif token.type == "tr_open":
                cells = []
            elif token.type == "tr_close":
                self._row(cells or [])
                cells = None
            elif cells is not None and token.type == "inline":
                cells.append(token)
            elif token.type in _BLOCKS and token.map is not None:
                self._block(token, *token.map)
                unread.difference_update(range(*token.map))
        self.counts["rest"] += bool(unread)
        self._drop_notes(tokens)
        return "\n".join(self.kept[number] for number in sorted(self.kept))

    def _block(self, token: Token, begin: int, end: int) -> None:
        """Keep what is shown of a block that has lines of its own."""
        lines = self.lines[begin:end]
        match token.type:
            case "fence":
                lines = self._fence(token, lines)
            case "html_block":
                text = token.content.rstrip("\n")
                cuts = [_cut_of(each) for each in _HTML.finditer(text)]
                if _NEWER_BLOCK.match(text):
                    cuts = [_Cut(0, len(text), "comment", _UNSEEN_ALL)]
                lines = _without(lines, text, cuts, self.counts)
            case "inline":
                # To GitHub, what has a line of dashes may be a table, so nothing is sure of it.
                all_of_it = [_Cut(0, len(token.content), "rest")]
                cuts = all_of_it if _DELIMITERS.search(token.content) else _cuts_of(token)
                lines = _without(lines, token.content, cuts, self.counts)
            case "definition":
                self.counts["definition"] += 1
                lines = ()
            case _:
                assert token.type in ("code_block", "hr"), "all else has blocks in it"
        self._keep(begin, end, lines)

    def _keep(self, begin: int, end: int, lines: Iterable[str]) -> None:
        for number in range(begin, end):
            self.kept.pop(number, None)
        self.kept.update(enumerate(lines, begin))

    def _fence(self, token: Token, lines: Sequence[str]) -> Sequence[str]:
        """Return a block of code without what follows its language; a drawn one is a picture."""
        before = lines[0][: lines[0].index(token.markup)]
        word, *more = token.info.split() or [""]
        if word.lower() in _DRAWN:
            self.counts["image"] += 1
            return [before + _NO_IMAGE]
        if not more and len(word) <= _LONGEST_WORD:
            return lines
        self.counts["info"] += 1
        word = word if len(word) <= _LONGEST_WORD else ""
        return [f"{before}{token.markup}{word}", *lines[1:]]

    def _row(self, cells: Sequence[Token]) -> None:
        """Keep a row of a table without what is in no column of it."""
        assert cells[0].map is not None, "the parser says so of each cell"
        begin, end = cells[0].map
        line = self.lines[begin]
        marks = _MARKS.match(line)
        assert marks is not None, "the pattern may be empty"
        letters = _BETWEEN_CELLS.sub("", "".join(each.content for each in cells))
        beyond = _BETWEEN_CELLS.sub("", line[marks.end() :]) != letters
        cuts = [_cuts_of(each) for each in cells]
        if beyond or any(cuts):
            self.counts["cell"] += beyond
            shown = (
                _without([cell.content], cell.content, each, self.counts)[0].replace("|", "\\|")
                for cell, each in zip(cells, cuts, strict=True)
            )
            line = f"{marks[0]}| {' | '.join(shown)} |"
        self._keep(begin, end, [line])

    def _drop_notes(self, tokens: Sequence[Token]) -> None:
        """Leave out footnotes that nothing refers to but a footnote, and the second of a name."""
        within = 0
        named: set[str] = set()
        notes: list[Token] = []
        for token in tokens:
            if token.type == "footnote_reference_open":
                notes.append(token)
            within += {"footnote_reference_open": 1, "footnote_reference_close": -1}.get(
                token.type, 0
            )
            children = (token.children or ()) if not within else ()
            refers = [each for each in children if each.type == "footnote_ref"]
            if refers and not any(each.kind == "rest" for each in _cuts_of(token)):
                named.update(_label(each) for each in refers)
        if any(_UNSEEN_ALL in each for each in self.kept.values()):
            named.clear()  # they are shown at the end
        for note in notes:
            if _label(note) in named:
                named.remove(_label(note))
            elif note.map is not None:
                self.counts["footnote"] += 1
                self._keep(note.map[0], note.map[1], ())


_BLOCKS: Final = frozenset(("code_block", "definition", "fence", "hr", "html_block", "inline"))
"""The kinds of blocks that have lines, beside the rows of tables."""


def _label(token: Token) -> str:
    return str(token.meta["label"]).casefold()
