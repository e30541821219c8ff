"""Fills in the templates of the prompts, which lie beside this file.

A prompt holds nothing that changes between runs on the same inputs (no run id, time or path of the
machine), so that a request can be found again by its hash.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from shared.errors import InvalidInput
from shared.files.text_sources import fill, read_text_input
from shared.languages.capabilities import PlanningRules, read_rules
from shared.languages.registry import languages_at_hand

if TYPE_CHECKING:
    from shared.languages.capabilities import Language

SPEC_PLACE = "PRODUCT_SPEC"
PLACES = (
    *(SPEC_PLACE, "DOCTRINE", "REPO_HINTS", "REQUIREMENTS", "VERIFICATION"),
    *("LANGUAGES", "EXAMPLE"),
)

# A reply of the default output budget can hold this much: 64,000 tokens of about four characters.
# A model with a smaller context cannot have written more than it can read again.
MAX_REPLY_CHARACTERS = 256_000
# This holds one to two hundred findings. A plan with more repeats faults that the first ones show.
MAX_FINDINGS_CHARACTERS = 20_000
MAX_FINDING_CHARACTERS = 600
_LEAST_OF_A_FINDING = 40

SCRIPT_ONLY = "`bash scripts/verify.sh`, as soon as the repository has it."
NO_REPO = "No repository was given: it is empty, and WO-01 starts from nothing."

_PLACE = re.compile(r"\{\{([A-Z][A-Z0-9_]*)\}\}")
# Bounded, or a run of blanks would be scanned again from each of its positions.
_NEAR_PLACE = re.compile(r"\{\{ {0,4}([A-Za-z][A-Za-z0-9_ -]{0,40}?) {0,4}\}\}")


@dataclass(frozen=True, slots=True)
class Template:
    """Represent a prompt with `{{PRODUCT_SPEC}}` once, and each other place at most once.

    `sha256` is the hash of the text. It is part of the hash that identifies a compilation.
    """

    text: str
    sha256: str


def load_template(path: Path | None = None) -> Template:
    """Return the template at `path`, or the default one.

    Raises `InvalidInput` where the file cannot be read as text, lacks the place for the spec,
    repeats a place, or has an unknown place.
    """
    if path is None:
        text = _packaged("PLANNER_PROMPT.md")
    else:
        text = read_text_input(path, "template").text
        _check_places(text, f"template {path}")
    return Template(text, hashlib.sha256(text.encode()).hexdigest())


def default_doctrine() -> str:
    """Return the house rules that a plan follows where the user gives none."""
    return _packaged("DOCTRINE.md").strip()


def render(
    template: Template,
    spec_text: str,
    doctrine: str = "",
    repo_hints: str = "",
    requirements: str = "",
    verification: str = "",
    languages: PlanningRules | None = None,
) -> str:
    """Return the prompt. Text that looks like a place within an inserted text stays as it is.

    `verification` are the commands that verify the repo, one a line, in a fence; empty where an
    order has to write `scripts/verify.sh`, or where the repo has it. `languages` are the rules and
    the example of `render_languages`, without one those for any language.
    """
    languages = languages or render_languages("", ())
    known = {"COMMANDS": verification}
    rules = _fill(_packaged("KNOWN_VERIFICATION.md" if verification else "VERIFICATION.md"), known)
    return _fill(
        template.text,
        {
            SPEC_PLACE: spec_text.strip("\n"),
            "DOCTRINE": doctrine.strip("\n") or "None.",
            "REPO_HINTS": repo_hints.strip("\n") or NO_REPO,
            "REQUIREMENTS": requirements.strip("\n"),
            "VERIFICATION": rules.strip("\n"),
            "LANGUAGES": f"\n{languages.text}\n",
            "EXAMPLE": languages.example,
        },
    )


def render_replan(
    values: Mapping[str, str], repo_hints: str, verification: str = "", languages: str = ""
) -> str:
    """Return the prompt for a plan that follows another one.

    `values` fill the places that say what changed and what may change. The rest is as in `render`.
    """
    more = {
        "REPO_HINTS": repo_hints.strip("\n") or NO_REPO,
        "VERIFICATION": verification or SCRIPT_ONLY,
        "LANGUAGES": f"\n{languages}\n" if languages else "",
    }
    return _fill(_packaged("REPLAN_PROMPT.md"), {**values, **more})


def render_change(
    asked: str, repo_hints: str, verification: str = "", *, tests_given: bool = False
) -> str:
    """Return the prompt for one order that carries out a change.

    `asked` is what the person asks for. With `tests_given`, the person brings the test along, so
    none is asked for.
    """
    keys, _, rules = ("" if tests_given else _packaged("CHANGE_TEST.md")).partition("\n")
    values = {
        "CHANGE": asked.strip("\n"),
        "TEST_KEYS": keys,
        "TEST_RULES": f"{rules.strip()} " if rules else "",
        "VERIFICATION": f" Run in any case: {verification}" if verification else "",
        "REPO_HINTS": repo_hints.strip("\n"),
    }
    return _fill(_packaged("CHANGE_PROMPT.md"), values)


def render_test(asked: str, repo_hints: str, test: str, findings: Sequence[str] = ()) -> str:
    """Return the prompt for the test file of a change alone; `findings` refused the last one.

    `test` says which file it is and how it begins.
    """
    said = f"Your last file was refused:\n\n{_render_findings(findings, 0)}" if findings else ""
    values = {
        "CHANGE": asked.strip("\n"),
        "REPO_HINTS": repo_hints.strip("\n"),
        "TEST": test,
        "FINDINGS": f"\n\n{said}".rstrip("\n"),
    }
    return _fill(_packaged("TEST_PROMPT.md"), values)


def replan_template(name: str = "REPLAN_PROMPT.md") -> Template:
    """Return the template of a prompt that is not for a whole plan.

    Its hash identifies a compilation.
    """
    text = _packaged(name)
    return Template(text, hashlib.sha256(text.encode()).hexdigest())


class Revision(StrEnum):
    """Say what the model is shown its reply for; the value names the template of the prompt."""

    REFUSED = "REVISION_PROMPT.md"
    REVIEWED = "REVIEW_REVISION_PROMPT.md"


REVISION_FORM = "REVISION_FORM.md"
WHOLE_FORM = "WHOLE_FORM.md"


def render_revision(
    prompt: str,
    shown: str,
    findings: Sequence[str],
    attempt: int,
    revision: Revision = Revision.REFUSED,
    *,
    form: str = WHOLE_FORM,
    needed: int = 0,
) -> str:
    """Return the prompt that shows the model its reply to `attempt` and what is wrong with it.

    `prompt` is the first prompt; it comes first and unchanged, so that servers which cache
    prefixes charge little for it. `shown` is the reply, or its orders as the template `form` says
    how to revise them. A finding, or a claim of the reviewer, is one line. Reply and findings are
    bounded, and omissions are marked. The first `needed` findings are cut shorter where that makes
    room for all of them.
    """
    return _fill(
        _packaged(revision),
        {
            "PROMPT": prompt.strip("\n"),
            "ATTEMPT": str(attempt),
            "SHOWN": fenced(_cut_middle(shown, MAX_REPLY_CHARACTERS)),
            "FORM": _packaged(form).strip("\n"),
            "FINDINGS": _render_findings(findings, needed),
        },
    )


def render_outline(prompt: str) -> str:
    """Return the prompt that asks for the outline of a plan alone."""
    return _fill(_packaged("OUTLINE_PROMPT.md"), {"PROMPT": prompt.strip("\n")})


def render_outlined(prompt: str, outline: str) -> str:
    """Return the text that all prompts for details of this outline begin with."""
    values = {"PROMPT": prompt.strip("\n"), "OUTLINE": fenced(outline)}
    return _fill(_packaged("OUTLINED_PROMPT.md"), values)


def render_details(outlined: str, orders: Sequence[str]) -> str:
    """Return the prompt that asks for the details of these orders of an outline."""
    values = {"PROMPT": outlined.strip("\n"), "ORDERS": ", ".join(orders)}
    return _fill(_packaged("DETAILS_PROMPT.md"), values)


def render_looks(prompt: str, seen: str, left: int) -> str:
    """Return the prompt that offers to look at the repository, with what was `seen` already.

    With none `left`, the plan is asked for.
    """
    offer = _fill(_packaged("LOOK_PROMPT.md"), {"PROMPT": prompt.strip("\n")}).rstrip("\n")
    last = "No look is left: reply with the plan now."
    left_text = f"{left} such repl{'y is' if left == 1 else 'ies are'} left." if left else last
    return "\n\n".join(filter(None, (offer, seen, left_text)))


def have_room(findings: Sequence[str]) -> bool:
    """Return whether a prompt shows all these findings, each as far as it shows any."""
    return sum(map(len, _lines_of(findings, 0))) + len(findings) <= MAX_FINDINGS_CHARACTERS


_STEERING = (
    "\n\nBy these files an executor can decide how its own tests end. An order that does not need "
    "its file is a finding:\n"
)


def render_review(spec_text: str, plan_json: str, steering: Sequence[str] = ()) -> str:
    """Return the reviewer's prompt for a plan, as JSON, and the spec that it was made from.

    `steering` are sentences on files by which an order can decide how its tests end.
    """
    plan = fenced(_cut_middle(plan_json, MAX_REPLY_CHARACTERS), "json")
    if steering:
        plan += _STEERING + "".join(f"\n- {each}" for each in steering)
    return _fill(_packaged("REVIEWER_PROMPT.md"), {SPEC_PLACE: spec_text.strip("\n"), "PLAN": plan})


def fenced(text: str, language: str = "") -> str:
    """Return `text` in a code fence that no fence within it can close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    body = text if text.endswith("\n") else f"{text}\n"
    return f"{fence}{language}\n{body}{fence}"


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Fill all places in one pass, so that no inserted text is expanded in its turn.

    The result can always be sent: a lone surrogate, as a broken reply may hold, becomes `?`.
    """
    return fill(text, values).encode("utf-8", "replace").decode("utf-8")


def _check_places(text: str, named: str) -> None:
    _refuse_misspelt(text, named)
    found = _PLACE.findall(text)
    if SPEC_PLACE not in found:
        raise InvalidInput(
            f"{named} has no {{{{{SPEC_PLACE}}}}}: the model would never see the spec",
            f"put {{{{{SPEC_PLACE}}}}} where the spec should stand",
        )
    for name in PLACES:
        if found.count(name) > 1:
            raise InvalidInput(
                f"{named} has {{{{{name}}}}} {found.count(name)} times", "keep one of them"
            )


def _refuse_misspelt(text: str, named: str) -> None:
    """Refuse unknown places, and known ones written so that they would not be filled."""
    for match in _NEAR_PLACE.finditer(text):
        name = re.sub(r"[ -]", "_", match[1]).upper()
        exact = _PLACE.fullmatch(match[0])
        if (exact and name in PLACES) or not (exact or name in PLACES):
            continue  # a known place, or the place of another tool, such as `{{ user.name }}`
        near = difflib.get_close_matches(name, PLACES, n=1)
        known = ", ".join(f"{{{{{each}}}}}" for each in PLACES)
        line = text.count("\n", 0, match.start()) + 1
        raise InvalidInput(
            f"{named} has the unknown placeholder {match[0]} at line {line}",
            f"write {{{{{near[0]}}}}}" if near else f"the placeholders are {known}",
        )


def _render_findings(findings: Sequence[str], needed: int) -> str:
    lines: list[str] = []
    room = MAX_FINDINGS_CHARACTERS
    for line in _lines_of(findings, needed):
        room -= len(line) + 1
        if room < 0:
            lines.append(f"- and {len(findings) - len(lines)} more findings")
            break
        lines.append(line)
    return "\n".join(lines)


def _lines_of(findings: Sequence[str], needed: int) -> Iterator[str]:
    """Yield a line for each finding; the first `needed` share the room if they do not fit."""
    texts = [" ".join(each.split()) for each in findings]
    limits = [MAX_FINDING_CHARACTERS] * len(texts)
    wanted = (_cut_middle(each, MAX_FINDING_CHARACTERS) for each in texts[:needed])
    if sum(len(each) + 3 for each in wanted) > MAX_FINDINGS_CHARACTERS:
        # The words that replace the characters left out take room, too.
        share = MAX_FINDINGS_CHARACTERS // needed - 3 - len(_left_out(MAX_FINDING_CHARACTERS))
        limits[:needed] = [max(_LEAST_OF_A_FINDING, share)] * needed
    for text, limit in zip(texts, limits, strict=True):
        yield f"- {_cut_middle(text, limit)}"


def _left_out(characters: int) -> str:
    return f" [... {characters:,} characters left out ...] "


def _cut_middle(text: str, limit: int) -> str:
    """Return `text`, cut to a head and tail of `limit` characters together where it is longer."""
    left_out = len(text) - limit
    if left_out <= 0:
        return text
    tail = limit // 2
    return f"{text[: limit - tail]}{_left_out(left_out)}{text[-tail:]}"


def _packaged(name: str) -> str:
    from importlib.resources import files  # here, because it costs some milliseconds

    return files("planner.prompts").joinpath(name).read_text(encoding="utf-8")


def render_languages(
    spec_text: str,
    paths: Collection[str],
    machine: str = "",
    sources: Mapping[str, str] = MappingProxyType({}),
) -> PlanningRules:
    """Return the rules of each language that the repository has files of or the spec names.

    The example is that of the first of them. Where nothing speaks for a language, the rules are
    short and for any. `paths` are the files of the repository, `sources` texts of them, and
    `machine` describes what commands find. Where the spec has something hold for all inputs, the
    rules say how the first language tests that.
    """
    at_hand = languages_at_hand(spec_text, paths)
    advice = [each.advice for each in at_hand]
    rules = [each.read(machine) for each in advice if each is not None]
    rules = rules or [read_rules(_packaged("ANY_LANGUAGE.md"))]
    parts = [*(each.text for each in rules), *_properties(spec_text, at_hand, machine, sources)]
    return PlanningRules("\n\n".join(parts), rules[0].example)


# What a specification says that holds for all inputs, and what a test of it asserts.
_KINDS: Final = (
    (
        r"round[- ]?trips?|encod\w+.{1,400}\bdecod|decod\w+.{1,400}\bencod|unescap|unquot|decrypt"
        r"|decompress|seriali[sz]|pars\w+.{1,400}\bback\b|lossless|there and back"
        r"|the inverse of|(?:read|load)\w* (?:it )?back\b",
        "round trip: `decode(encode(x)) == x`",
    ),
    (
        r"sorts?\b|sorting\b|sorted list|(?:ascending|descending|topological|stable) order",
        "order: the result is in order, and holds just what the input held",
    ),
    (
        r"idempoten|normali[sz]|canonical|applied twice|a second time changes nothing",
        "idempotence: a second time changes nothing; code that does nothing passes that alone, so "
        "an example is asserted as well",
    ),
    (
        r"invariants?\b|permutation|shuffl|conserv|(?:sum|add)s? up to|clamp|at any time\b"
        r"|sums? of .{1,60}\b(?:is|equals)\b|always (?:equal|positive|between|within|holds)"
        r"|never (?:negative|below|above|exceed|more than|less than|lose)"
        r"|for (?:all|every|any) (?:input|value|list)",
        "invariant: a sum, size or bound that no input breaks",
    ),
    (
        r"brute.?force|(?:same|equal|identical) (?:result|answer|output)s? as|equivalent to|naive",
        "model: equal to the plainest slow way, which the test has",
    ),
)


def _properties(
    spec_text: str, at_hand: Sequence[Language], machine: str, sources: Mapping[str, str]
) -> Iterator[str]:
    """Yield the section on tests on generated inputs, if the specification gives reason to one."""
    spec = " ".join(spec_text.split())
    kinds = [said for words, said in _KINDS if re.search(rf"\b(?:{words})", spec, re.IGNORECASE)]
    first = next((each for each in at_hand if each.advice is not None), None)
    if not kinds or first is None or first.advice is None:
        return
    manifests = "\n".join(
        text for path, text in sources.items() if first.packages and first.packages.declares(path)
    )
    written = first.advice.read_properties(manifests, machine)
    values = {"KINDS": "\n".join(f"- {each}" for each in kinds), "WRITTEN": f" {written}"}
    yield _fill(_packaged("PROPERTIES.md"), values).strip("\n")
