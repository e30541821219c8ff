"""Composes the commit message, note, trailers and branch of an order.

The title and the summary come from a model. Neither can look like a trailer, nor keep a host from
running its checks, and a summary closes no issue. No character of them depends on the Python
version: equal replies have to give equal commits.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from factory.orders.read_orders import LoadedOrder
from shared.git.commits import CommitFacts
from shared.git.refs import OWN_REFS
from shared.git.repos import Identity
from shared.work_order.parse_order import order_key, sha256_bytes
from shared.work_order.plan_folder import PlanFacts
from shared.work_order.work_order import Assumption, WorkOrder

LONGEST_SLUG: Final = 40
_ID_DIGITS = 8
_READ = 200  # characters of a text that may be very long
_ASIDE = re.compile(r"\([^()]*\)")
_SENTENCE = re.compile(r"[.;!?](?:\s|$)")
_BETWEEN_WORDS = re.compile("[^a-z0-9]+")


def default_branch(orders: Sequence[LoadedOrder]) -> str:
    """Return the branch for orders that no branch is named for, always the same for the same work.

    The orders of a plan share the plan's branch, also where only one of them is run. A plan that
    follows another one goes on with the branch of the oldest.
    """
    plan = orders[0].plan
    if plan is not None:
        return _name(plan.title, plan.root, "plan")
    keys = "\n".join(order_key(each.order) for each in orders)
    return _name(orders[0].order.title, sha256_bytes(keys.encode()), "order")


def branch_of_earlier_versions(orders: Sequence[LoadedOrder]) -> str:
    """Return the branch that earlier versions gave to a plan; "" for orders without a plan."""
    plan = orders[0].plan
    return f"factory/{plan.planner_run_id}" if plan else ""


def short_id(digest: str) -> str:
    """Return the digits of a hash that suffice to distinguish the plans of a repo."""
    return digest[:_ID_DIGITS]


def slug(text: str) -> str:
    """Return the first sentence of `text` as lower-case ASCII words with hyphens between them.

    The result has at most 40 characters and ends with a whole word where there are several. It is
    empty if the text has no ASCII letter or digit.
    """
    sentence = _SENTENCE.split(_ASIDE.sub(" ", text[:_READ]).strip())[0]
    plain = unicodedata.normalize("NFKD", sentence).encode("ascii", "ignore").decode()
    words = _BETWEEN_WORDS.sub("-", plain.lower()).strip("-")
    if len(words) <= LONGEST_SLUG:
        return words
    whole = words[: LONGEST_SLUG + 1].rpartition("-")[0]
    return whole or words[:LONGEST_SLUG]


def _name(title: str, digest: str, otherwise: str) -> str:
    return f"factory/{slug(title) or otherwise}-{short_id(digest)}"


NOTES_REF: Final = OWN_REFS[1]

ORDER_TRAILER: Final = "Llmch-Work-Order"
_PLAN = "Llmch-Plan"
_KEY = "Llmch-Key"
_COVERS = "Llmch-Covers"
# `git merge --squash` writes the messages of the commits with this indentation. A line of a
# model's summary can begin with one blank at most, so it is not read as a trailer.
_SQUASHED = " " * 4


@dataclass(frozen=True, slots=True)
class OrderIdentity:
    """Identify a landed order by its id, its content, and the plan it belongs to, if any."""

    work_order: str
    key: str
    plan: str

    def trailers(self) -> str:
        """Return the lines that end the commit message."""
        lines = [f"{ORDER_TRAILER}: {self.work_order}"]
        if self.plan:
            lines.append(f"{_PLAN}: {self.plan}")
        lines.append(f"{_KEY}: {self.key}")
        return "\n".join(lines)


def identify(order: WorkOrder, plan: str) -> OrderIdentity:
    """Return the identity of `order`; `plan` is the hash of its manifest, "" if it has none."""
    return OrderIdentity(order.id, order_key(order), plan)


def identities(order: WorkOrder, plan: PlanFacts | None) -> tuple[OrderIdentity, ...]:
    """Return the identities by which a commit of `order` is recognised.

    The first one is the identity in `plan`. The others are those in the plans that `plan` follows,
    newest first: an order that was kept may have landed as an order of any of them.
    """
    if plan is None:
        return (identify(order, ""),)
    key = order_key(order)
    hashes = dict.fromkeys((plan.manifest_sha256, *reversed(plan.lineage)))
    return tuple(OrderIdentity(order.id, key, each) for each in hashes)


def landed_orders(messages: Iterable[tuple[str, str]]) -> Mapping[OrderIdentity, str]:
    """Return the first commit of each order that the (commit, message) pairs name.

    A message may name several orders: that of a commit that squashed theirs.
    """
    found: dict[OrderIdentity, str] = {}
    for commit, message in messages:
        for fields in _trailers(message):
            if _KEY in fields:
                identity = OrderIdentity(fields[ORDER_TRAILER], fields[_KEY], fields.get(_PLAN, ""))
                found.setdefault(identity, commit)
    return found


def covered_requirements(message: str) -> tuple[tuple[str, str], ...]:
    """Return a pair (order, requirement) for each requirement id that a commit message covers."""
    return tuple(
        (fields[ORDER_TRAILER], name)
        for fields in _trailers(message)
        for each in fields.get(_COVERS, "").split(",")
        if (name := each.strip())
    )


def _trailers(message: str) -> Iterator[dict[str, str]]:
    """Yield the trailers of each order that a message names, by their names.

    Any paragraph may have them, since a squashed commit has the messages of several commits.
    """
    if ORDER_TRAILER not in message:
        return
    fields: dict[str, str] = {}
    for line in message.split("\n"):
        name, colon, value = line.removeprefix(_SQUASHED).partition(": ")
        if name == ORDER_TRAILER and colon:
            if fields:
                yield fields
            fields = {name: value.strip()}
        elif not line.strip():
            if fields:
                yield fields
            fields = {}
        elif fields and colon:
            fields.setdefault(name, value.strip())
    if fields:
        yield fields


NOBODY: Final = Identity("llmch", "llmch@localhost")
"""The author of commits where the person has no git identity."""

CONVENTIONAL: Final = "conventional"
AS_REPOSITORY: Final = "repository"
"""The form of subjects that read as the repository's last ones; `subject_form` completes it."""
_SUBJECT_CHARACTERS = 100
_SUMMARY_CHARACTERS = 600
_LINE_CHARACTERS = 72
# Spelled out, because `str.isprintable` depends on the Python version and a commit must not.
_BLANKS_AND_CONTROLS = re.compile("[\x00-\x20\x7f-\xa0\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
# Git, or a tool that reads mails, takes a line that begins so for a trailer, the start of a patch
# or a comment.
_SPECIAL_LINE = re.compile(r"[A-Za-z0-9-]+ ?:|\(cherry picked|---|-- |diff |#|From |>")
# Hosts run no checks on a commit that says so in brackets, whoever wrote it.
_SKIPS_CHECKS = re.compile(
    r"\[((?:skip|no)[ -][A-Za-z-]+|[A-Za-z-]+[ -]skip)\]|\*{3}(NO_CI)\*{3}", re.IGNORECASE
)
_CLOSES = re.compile(r"\b(?:clos|fix|resolv|implement)[a-z]*:? ", re.IGNORECASE)
_AN_ISSUE = re.compile(r" ?#(?=[0-9])|\bGH-(?=[0-9])|\bhttps?://(?=\S+/[0-9])", re.IGNORECASE)
_NUMBERED = {"#": " no. ", "GH-": "GH "}
_PREFIXED = re.compile(r"[a-z]+(\([^()]*\))?!?: ")
_FIXES = re.compile(r"(?:fix|correct|repair)", re.IGNORECASE)
_DOCUMENTATION = (".md", ".rst", ".adoc")


@dataclass(frozen=True, slots=True)
class CommitTerms:
    """Hold what all commits of a run have in common; the run records it.

    `date` is spelled as git reads it. `subject` is the form of the setting `commit.subject`, with
    the repository's style completed by `subject_form`.
    """

    author: Identity
    date: str
    subject: str = "{order}: {title}"


_LAST_SUBJECTS: Final = 20
_MOST_SCOPES = 12
_TYPES = "build|chore|ci|docs?|feat|fix|perf|refactor|revert|style|tests?"
_SCOPE = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,39}"
_TYPED = re.compile(rf"(?:{_TYPES})(?:\(({_SCOPE})\))?!?: (?=\S)")
_SCOPED = re.compile(rf"({_SCOPE}): (?=\S)")
_PULL_REQUEST = re.compile(r" \(#[0-9]{1,9}\)$")
# What a tool writes, or git by itself, says nothing of how people here write.
_NOBODYS = re.compile(
    r"Merge |Revert \"|fixup! |squash! |Bump |Update dependency |\[pre-commit|"
    r"(?:build|chore|fix)\(deps[^)]{0,20}\)|(?:[Rr]elease |[Vv]ersion )?v?[0-9]+(?:\.[0-9]+)+\S*$"
)


def subject_form(subjects: Iterable[str]) -> str:
    """Return the form of subjects like those of a repository's last commits, newest first.

    The form says whether subjects have a conventional type, or begin with the part of the code
    that they change; whether their text begins with a capital; whether it ends with a stop; and
    which parts of the code they name. Most subjects decide. A repository without any has no style.
    """
    cut = (_PULL_REQUEST.sub("", _one_line(each[:_READ])) for each in subjects)
    plain = [each for each in cut if each and not _NOBODYS.match(each)][:_LAST_SUBJECTS]
    words = [AS_REPOSITORY]
    scopes: list[str] = []
    prefixed = sum(1 for each in plain if _SCOPED.match(each) or _TYPED.match(each))
    for name, begins in ((CONVENTIONAL, _TYPED), ("scoped", _SCOPED)):
        found = [(each, match) for each in plain if (match := begins.match(each))]
        # Where most begin with something, a type counts if most of that are types.
        of_all = prefixed if 2 * prefixed >= len(plain) else len(plain)
        if found and 2 * len(found) >= of_all:
            words.append(name)
            scopes = [match[1] for _, match in found if match[1]]
            plain = [each[match.end() :] for each, match in found]
            if 2 * len(scopes) < len(found):
                scopes = []
            break
    capitals = [each[0].isupper() for each in plain if each[0].isalpha()]
    if capitals:
        words.append("capital" if 2 * sum(capitals) >= len(capitals) else "lower")
    if plain and 2 * sum(each.endswith(".") for each in plain) > len(plain):
        words.append("stop")
    return " ".join(
        [*words, *(f"({each})" for each, _ in Counter(scopes).most_common(_MOST_SCOPES))]
    )


def _by_style(
    title: str, files: Sequence[str], words: Sequence[str], tests: Sequence[str] = ()
) -> str:
    """Return the subject of a change of `files`, in the style that `subject_form` found."""
    prefix = (_TYPED if CONVENTIONAL in words else _SCOPED).match(title)
    if prefix and len(words) > 1 and words[1] in (CONVENTIONAL, "scoped"):
        return title
    scope = _scope([each[1:-1] for each in words if each[0] == "("], (*files, *tests))
    if title[1:2].islower() and title[0].isascii():  # an abbreviation keeps its capitals
        if "lower" in words:
            title = title[0].lower() + title[1:]
        elif "capital" in words:
            title = title[0].upper() + title[1:]
    title += "." if "stop" in words else ""
    if CONVENTIONAL in words:
        return f"{_kind_of(files, title)}{f'({scope})' if scope else ''}: {title}"
    return f"{scope}: {title}" if scope else title


def _scope(known: Sequence[str], files: Sequence[str]) -> str:
    """Return that of the `known` scopes, the most frequent first, which names the most files."""
    places = [
        f"/{each.lower()}/" for each in (*files, *(each.rpartition(".")[0] for each in files))
    ]
    named = {scope: sum(f"/{scope.lower()}/" in each for each in places) for scope in known}
    best = max(named, key=lambda each: named[each], default="")
    return best if best and named[best] else ""


def describe_commit(
    order: WorkOrder,
    identity: OrderIdentity,
    terms: CommitTerms,
    summary: str,
    *,
    earlier: bool = False,
) -> CommitFacts:
    """Return message, author and date of the commit. Runs on equal input give equal values.

    `earlier` returns what versions made that left in the texts what a host acts on.
    """
    title, said = _one_line(order.title), _one_line(summary)
    if not earlier:
        title, said = _without_skips(title), _closing_nothing(_without_skips(said))
    covers = ", ".join(dict.fromkeys(order.covers))
    trailers = identity.trailers() + (f"\nLlmch-Covers: {covers}" if covers else "")
    parts = (_subject(order, title, identity, terms.subject), _body(said), trailers)
    message = "\n\n".join(filter(None, parts))
    return CommitFacts(f"{message}\n", terms.author.name, terms.author.email, terms.date)


def describe_ticks(title: str, path: str, terms: CommitTerms) -> CommitFacts:
    """Return message, author and date of a commit that ticks tasks in one file.

    It claims no order. The subject is in the repository's style, or has a conventional type, where
    `terms` say so.
    """
    form = terms.subject.split(" ")
    if form[0] == CONVENTIONAL:
        form = [AS_REPOSITORY, CONVENTIONAL, "lower"]
    subject = _by_style(title, (path,), form) if form[0] == AS_REPOSITORY else title
    message = f"{_cut(_one_line(subject), _SUBJECT_CHARACTERS)}\n"
    return CommitFacts(message, terms.author.name, terms.author.email, terms.date)


def _subject(order: WorkOrder, title: str, identity: OrderIdentity, form: str) -> str:
    if form.split(" ")[0] == AS_REPOSITORY:
        tests = [each.path for each in order.acceptance_files]
        named = title.rstrip(".") or order.id
        subject = _by_style(named, _changed_by(order), form.split(" "), tests)
    elif form == CONVENTIONAL:
        subject = _conventional(order, title or order.id)
    else:
        # The title goes in last, so that text in it that looks like a field is not replaced.
        subject = form.replace("{order}", order.id)
        subject = subject.replace("{id}", short_id(identity.plan or identity.key))
        subject = subject.replace("{title}", title)
    subject = _one_line(subject).rstrip(": ") or order.id
    return _cut(subject, _SUBJECT_CHARACTERS)


def _conventional(order: WorkOrder, title: str) -> str:
    """Return the title with its type."""
    if _PREFIXED.match(title):
        return title
    # An abbreviation, such as HTML, keeps its capitals.
    begins_plainly = title[1:2].islower() and title[0].isascii()
    text = title[0].lower() + title[1:] if begins_plainly else title
    return f"{_kind_of(_changed_by(order), title)}: {text}"


def _changed_by(order: WorkOrder) -> Sequence[str]:
    """Return the files that say what kind of change an order is."""
    return order.allowed_files or order.removed_files


def _kind_of(files: Sequence[str], title: str) -> str:
    """Return the type of the change: by the files where all are of one kind, else by the title."""
    if all(path.endswith(_DOCUMENTATION) for path in files):
        return "docs"
    if all("test" in path.lower() for path in files):
        return "test"
    return "fix" if _FIXES.match(title) else "feat"


def _body(summary: str) -> str:
    """Return the summary as one paragraph of lines that are only text to git and to mail tools."""
    text = _cut(summary, _SUMMARY_CHARACTERS)
    return "\n".join(f" {line}" if _SPECIAL_LINE.match(line) else line for line in _wrap(text))


def _wrap(text: str) -> Iterator[str]:
    """Yield lines of at most 71 characters, so that one may be indented; long words are cut."""
    longest = _LINE_CHARACTERS - 1
    line = ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > longest:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
        while len(line) > longest:
            yield line[:longest]
            line = line[longest:]
    if line:
        yield line


def _without_skips(text: str) -> str:
    """Return the line with those words in parentheses that would skip a host's checks."""
    return _SKIPS_CHECKS.sub(lambda found: f"({found[1] or found[2]})", text)


def _closing_nothing(text: str) -> str:
    """Return the line with issues named so that none is closed by it."""
    if not _CLOSES.search(text):
        return text
    return _AN_ISSUE.sub(lambda found: _NUMBERED.get(found[0].strip().upper(), ""), text)


def _one_line(text: str) -> str:
    return _BLANKS_AND_CONTROLS.sub(" ", text).strip()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."


_ACCEPTED: Final = "accepted: {}"
_PROOF = re.compile(r"^proof: (\S.*)$", re.MULTILINE)


_MOST_REQUIREMENTS: Final = 50
_REQUIREMENT_CHARACTERS: Final = 500
_DEMAND: Final = re.compile(r"^requirement ([A-Za-z0-9][A-Za-z0-9._-]{0,63}): ?(.*)$", re.MULTILINE)


def render_note(
    run_id: str,
    model: str,
    attempts: int,
    proof: str,
    *,
    agent: str = "",
    demands: Sequence[tuple[str, str]] = (),
    assumed: Iterable[Assumption] = (),
) -> str:
    """Return the text of a note; `proof` is one line, empty if nothing is known.

    `agent` is who proposed, if not the model itself.

    `demands` are the requirements that the commit covers, each an id and its text: the repo need
    not have the specification that the ids are from. `assumed` is what the plan reads into the
    specification for the order.
    """
    lines = [f"run: {run_id}", f"model: {model}", f"attempts: {attempts}"]
    if agent:
        lines.insert(1, f"agent: {_one_line(agent)}")
    if proof:
        lines.append(f"proof: {proof}")
    for name, text in demands[:_MOST_REQUIREMENTS]:
        said = _one_line(f"{name}: {text[: 2 * _REQUIREMENT_CHARACTERS]}")
        lines.append(f"requirement {_cut(said, _REQUIREMENT_CHARACTERS)}")
    if len(demands) > _MOST_REQUIREMENTS:
        lines.append(f"requirements: {len(demands) - _MOST_REQUIREMENTS} more")
    lines += [f"{each.kind}: {_one_line(each.render())}" for each in assumed]
    return "".join(f"{line}\n" for line in lines)


def demands_in(note: str) -> dict[str, str]:
    """Return the texts of the requirements that a note names, by id."""
    return dict(_DEMAND.findall(note))


def add_acceptance(note: str, order: str, facts: Mapping[str, str]) -> str:
    """Return a note on a person's commit with a paragraph on its acceptance for an order.

    `facts` are the other lines of the paragraph, by name. A paragraph of the same order is
    replaced, and all else in the note stays.
    """
    lines = (f"{name}: {' '.join(value.split())}" for name, value in facts.items() if value)
    paragraph = "\n".join([_ACCEPTED.format(order), *lines])
    return "\n\n".join([*_without_acceptance(note, order), paragraph]) + "\n"


def drop_acceptance(note: str, order: str) -> str:
    """Return the note without the paragraph of `order`; "" if nothing else was in it."""
    kept = _without_acceptance(note, order)
    return "\n\n".join(kept) + "\n" if kept else ""


def _without_acceptance(note: str, order: str) -> list[str]:
    """Return the paragraphs of a note without the one about its acceptance for `order`."""
    kept = [each.strip("\n") for each in note.split("\n\n") if each.strip()]
    return [each for each in kept if each.partition("\n")[0] != _ACCEPTED.format(order)]


def parse_proof(note: str) -> str:
    """Return what a note says of the proof; "" if it says nothing, as older notes do."""
    found = _PROOF.search(note)
    return found[1].rstrip() if found else ""
