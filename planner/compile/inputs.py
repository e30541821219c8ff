"""Gathers what a plan is made from: specification, template, repository; keeps what a model is
shown of it.

The text follows from the files, the words, the room and the code that reads them. A key of all of
these names a file in the person's cache folder. What cannot be kept or read back is made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.plan.file_projection import NOTHING_MORE, Allowed
from planner.plan.manifest import compile_hash
from planner.plan.plan_edits import Change
from planner.prompts.prompt_templates import (
    NO_REPO,
    Template,
    default_doctrine,
    load_template,
    replan_template,
)
from planner.replan.predecessor import FollowUp, Predecessor
from planner.replan.replan_prompt import relevant_words
from planner.repo.looks import Looks, has_code
from planner.repo.machine import NO_MACHINE, Machine, describe_machine
from planner.repo.planned_repo import (
    BaseTree,
    base_tree,
    committed_files,
    named_files,
    open_tree,
    quote_conventions,
    read_repo_hints,
    render_conventions,
)
from planner.spec.answers import answers_path
from planner.spec.read_spec import Spec, read_spec
from planner.spec.spec_difference import compare_requirements
from shared.errors import InvalidInput
from shared.events.events import Emit, Warned, ignore
from shared.files import atomic_io
from shared.files.paths import VERIFY_SCRIPT
from shared.llm.budget import likely_tokens
from shared.llm.model_client import Api, CallPlace, Request, Role
from shared.llm.request_forms import NO_THINKING, thinking_tokens
from shared.processes.pinned_tools import cache_folder

if TYPE_CHECKING:
    from shared.git.trees import CommitSources
    from shared.projects.manifests import VerifyCommand
    from shared.work_order.work_order import Assumption


LEAST_FILES: Final = 500  # to read fewer of them takes no longer than to look here
MOST_KEPT: Final = 64
_FLOORS: Final = Path(__file__).parents[2]
_READERS: Final = ("planner/repo", "planner/prompts", "shared/languages", "shared/projects")


def hints_of(
    base: BaseTree | None,
    paths: Collection[str],
    asked: tuple[str, int, tuple[str, ...]],
    make: Callable[[], str],
) -> str:
    """Return what `make` returns, or returned for the same files and the same `asked`.

    `asked` are the words, the room, and the paths that are shown elsewhere. A small tree, and one
    with changed files, is read anew. Never raises by itself.
    """
    if base is None or base.changed or len(paths) < LEAST_FILES:
        return make()
    try:
        folder = cache_folder() / "hints"
    except RuntimeError:  # nobody has a home folder here
        return make()
    file = folder / _key(base, paths, asked)
    kept = atomic_io.read_kept(file)
    if kept is not None:
        return kept.decode("utf-8", "surrogateescape")
    made = make()
    with contextlib.suppress(ValueError):
        atomic_io.keep(file, made.encode("utf-8", "surrogateescape"), MOST_KEPT)
    return made


def _key(base: BaseTree, paths: Collection[str], asked: object) -> str:
    digest = hashlib.sha256(repr((sys.version_info[:2], asked, *_readers())).encode())
    for path in paths:
        line = f"{path}\0{base.ids.get(path, '')}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _readers() -> Iterator[tuple[str, int, int]]:
    """Yield a mark of each file of the code that reads a repository."""
    for top in _READERS:
        for folder, inner, names in os.walk(_FLOORS / top):
            inner[:] = sorted(each for each in inner if each != "__pycache__")
            for name in sorted(names):
                facts = os.stat(f"{folder}/{name}")  # noqa: PTH116 (a path object for each costs 10 ms)
                yield name, facts.st_size, facts.st_mtime_ns


@dataclass(frozen=True, slots=True)
class PlannerModel:
    """Hold which model plans or reviews, and the parameters of its requests.

    `max_output_tokens` includes reasoning. `None` leaves a parameter to the server.
    """

    model: str
    reasoning_effort: str | None
    max_output_tokens: int | None
    temperature: float | None = None

    def for_details(self) -> PlannerModel:
        """Return the model as it is asked for the details of a few orders.

        A reply that runs away is cut early: it has a quarter of the room, at least what a reply
        should have, and what the reasoning may take.
        """
        most, effort = self.max_output_tokens, self.reasoning_effort
        room = max(MAX_REPLY_TOKENS, (most or 0) // 4)
        if effort is not None and effort not in NO_THINKING:
            room += thinking_tokens(effort, most or 4 * MAX_REPLY_TOKENS)
        return replace(self, max_output_tokens=min(room, most or room))

    def request(
        self, prompt: str, attempt: int, role: Role = Role.PLANNER, order: str | None = None
    ) -> Request:
        """Return the request of one attempt, or of one round of a review.

        `order` names the orders that are asked for where these are some of a plan.

        The request carries no schema. Rules judge a plan's shape, and say what is wrong in words
        that the model can act on. A reply of this size that is bound to a schema fails on more
        servers than it helps.
        """
        return Request(
            api=Api.RESPONSES,
            model=self.model,
            prompt=prompt,
            place=CallPlace(role, attempt, order),
            max_output_tokens=self.max_output_tokens,
            temperature=self.temperature,
            reasoning_effort=self.reasoning_effort,
        )


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Hold what to plan, with which model, and where to write the plan."""

    spec: Path
    artifacts: Path
    model: PlannerModel
    max_attempts: int
    repo: Path | None = None
    branch: str | None = None
    """The branch whose files the plan begins with, if it exists."""
    start: str | None = None
    """The commit whose files the plan begins with otherwise; the checkout's without one."""
    verify: tuple[str, ...] = ()
    """The commands that the user says verify the repo."""
    outdir: Path | None = None
    template: Path | None = None
    overwrite: bool = False
    require_coverage: bool = False
    allowed: Allowed = NOTHING_MORE
    reviewer: PlannerModel | None = None
    """The model that reviews a valid plan; `None` for no review."""
    review_all: bool = True
    """Whether all orders are reviewed, or only those at risk; none of them, and nobody is asked."""
    hints_tokens: int = 8_000
    """How much of the repo the model is shown."""
    look_rounds: int = 3
    """How many replies of the model may ask to see more of the repo instead of being a plan."""
    look_tokens: int = 12_000
    """How much it is shown then, in all."""
    ask_person: Callable[[Sequence[Assumption]], bool] | None = None
    """Asks what such a reply asks, adds the answers to the spec, and says whether there are any.

    It is `None` where nobody is."""
    follows: Predecessor | None = None
    """The plan that the new one follows; `None` for a plan of the whole specification."""
    change: Change | None = None
    """The change to plan as one order; the spec then has its words. `None` for any other plan."""
    staged: bool | None = None
    """Whether an outline is asked for first; `None` decides it by the length of the plan."""
    dry_run: bool = True
    """Whether a plan that no rule refuses has to run here, as far as that can be tried."""
    anew: bool = False
    """Whether the model is asked again for what a run on the same inputs that was cut off has."""


def settings_document(options: PlanOptions) -> dict[str, Any]:
    """Return the settings as `run.json` and `compile_summary.json` record them."""
    return {
        "model": options.model.model,
        "reasoning_effort": options.model.reasoning_effort,
        "max_output_tokens": options.model.max_output_tokens,
        "reviewer": options.reviewer.model if options.reviewer else None,
        "max_attempts": options.max_attempts,
        "require_coverage": options.require_coverage,
    }


# A strong model took 13,200 tokens for 66 requirements of 1,680 tokens.
_REQUIREMENT_TOKENS: Final = 200
_PROSE_SHARE: Final = 8
MAX_REPLY_TOKENS: Final = 16_000


def plans_in_stages(options: PlanOptions, inputs: CompileInputs) -> bool | None:
    """Return whether the outline of a plan is asked for before its details.

    That is so where the whole reply would take more tokens than one should have. Of a plan that
    follows another one, what was changed and added counts. The plan of a single change is small.
    The result is `None` where one reply is expected to do, but need not.
    """
    if inputs.change is not None:
        return False
    if options.staged is not None:
        return options.staged
    spec, planned = inputs.spec, len(inputs.spec.requirements)
    if inputs.task is not None:
        planned = len(inputs.task.difference.changed) + len(inputs.task.difference.added)
    expected = _REQUIREMENT_TOKENS * planned
    if not expected and inputs.task is None:
        expected = _PROSE_SHARE * likely_tokens(len(spec.text.encode()))
    limit = min(MAX_REPLY_TOKENS, options.model.max_output_tokens or MAX_REPLY_TOKENS)
    return True if expected > limit else None


_TOKEN_CHARACTERS: Final = 4
# A change concerns few files, and the orders of the plan before name their own.
_CHANGE_SHARE: Final = 16
_CONVENTIONS_SHARE: Final = 4  # of as many characters, beside them
# For one order, what the person names is shown whole, and then little of the rest: the prompt is to
# be little longer than one that would ask for the change itself.
WHOLE_CHARACTERS: Final = 40_000
ONE_ORDER_HINTS: Final = 12_000
LEAST_HINTS: Final = 160
_HINTS_SHARE: Final = 10  # of what is shown whole


@dataclass(frozen=True, slots=True)
class RepoInputs:
    """Hold the repo that a plan is for: its root, its files as git lists them, and their texts.

    `sources` has the texts that rules read, and `hints` is the repo as the prompt shows it,
    with the files of the paths in `whole` as they are.
    `verification` are the commands that verify the repo, where it has no script of its own for
    that. Without a repo, all fields are empty.
    """

    root: Path | None = None
    files: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    hints: str = ""
    whole: tuple[str, ...] = ()
    verification: tuple[VerifyCommand, ...] = ()
    base: BaseTree | None = None
    """The state of each file when the plan began."""
    open_committed: Callable[[], CommitSources | None] = lambda: None
    """Gives the files of the commit that the plan begins with."""


@dataclass(frozen=True, slots=True)
class CompileInputs:
    """Hold everything that a plan is made from.

    `compile_hash` covers the spec, the template, the model and its reasoning effort, the machine,
    and the plan that the new one follows. `task` says what changed since that plan; it is `None`
    for a plan of the whole specification.
    """

    spec: Spec
    template: Template
    doctrine: str
    repo: RepoInputs
    compile_hash: str
    require_coverage: bool = False
    allowed: Allowed = NOTHING_MORE
    task: FollowUp | None = None
    change: Change | None = None
    surroundings: str = ""
    """The machine and the repo, as the prompt describes them."""
    machine: str = ""
    """The machine alone."""


def gather_inputs(
    options: PlanOptions, emit: Emit = ignore, machine: Machine = NO_MACHINE
) -> CompileInputs:
    """Return the inputs of the plan. Raises `InvalidInput` if one of them cannot be used."""
    spec = read_spec(options.spec)
    template = replan_template() if options.follows else load_template(options.template)
    if options.change is not None:
        template, spec = replan_template("CHANGE_PROMPT.md"), replace(spec, requirements=())
    task = _follow_up(options, spec, emit)
    repo = _read_repo(options.repo, options, spec, task, emit) if options.repo else RepoInputs()
    here = describe_machine(
        spec.text, repo.files, repo.sources, machine, installs=options.allowed.installs
    )
    shown = repo.hints.strip("\n") or (NO_REPO if options.change is None else "")
    rules = quote_conventions(spec.rules) if spec.rules else ""
    if spec.untouched and options.follows is None:
        emit(Warned(_whole_plan(spec)))
    for remark in spec.remarks:
        emit(Warned(f"spec {spec.path}: {remark}"))
    return CompileInputs(
        spec=spec,
        template=template,
        doctrine=default_doctrine(),
        repo=repo,
        compile_hash=_compile_hash(options, spec, template, here),
        surroundings="\n\n".join(filter(None, (shown, rules, here))),
        machine=here,
        require_coverage=options.require_coverage,
        allowed=options.allowed,
        task=task,
        change=options.change,
    )


def _whole_plan(spec: Spec) -> str:
    return (
        f"spec {spec.path}: the change leaves {spec.untouched} of {len(spec.requirements)} "
        "requirements as they are, and they are planned as well: no plan of them was named with "
        "--from"
    )


def _follow_up(options: PlanOptions, spec: Spec, emit: Emit) -> FollowUp | None:
    """Return what changed since the plan that the new one follows, if there is one.

    An answer that is the reading of that plan changes nothing.
    """
    before = options.follows
    if before is None:
        return None
    if before.landed and options.repo is None:
        raise InvalidInput(
            f"orders of the plan in {before.folder} landed, and no repo was named that has them",
            "name it with --repo, and the branch with --branch",
        )
    if not spec.requirements:
        raise InvalidInput(
            f"spec {options.spec} states no requirement, or too many to list, so nobody can say "
            f"what has changed since the plan in {before.folder}",
            "give each requirement an id, as in `- FR-001: ...`, or plan anew without that plan",
        )
    readings = {each.id: each.reading for each in before.plan.assumptions}
    kept = {each.id for each in spec.answers if each.is_reading(readings.get(each.id, ""))}
    asked = readings.keys() | {each.id for each in before.plan.requirements}
    for each in spec.answers:
        if each.id not in asked:
            emit(
                Warned(
                    f"{answers_path(spec.path)}: {each.id} answers a question that the plan in "
                    f"{before.folder} does not ask: it counts as a new requirement"
                )
            )
    required = [each for each in spec.requirements if each.id not in kept]
    difference = compare_requirements(before.plan.requirements, required, ids_given=spec.ids_given)
    return FollowUp(before, difference)


def _compile_hash(options: PlanOptions, spec: Spec, template: Template, machine: str) -> str:
    return compile_hash(
        spec=spec.sha256,
        template=template.sha256,
        model=options.model.model,
        reasoning_effort=options.model.reasoning_effort,
        follows=options.follows.facts.manifest_sha256 if options.follows else None,
        machine=machine,
    )


def _read_repo(
    folder: Path, options: PlanOptions, spec: Spec, task: FollowUp | None, emit: Emit
) -> RepoInputs:
    tree = open_tree(folder, options.branch, options.verify, emit, options.start)
    words, room = spec.text, _TOKEN_CHARACTERS * options.hints_tokens
    if task is not None:
        words, room = relevant_words(task), room // _CHANGE_SHARE
    paths, base = tuple(tree.files.paths), base_tree(tree)
    whole: Mapping[str, str] = {}
    if options.change is not None:
        whole = named_files(tree.files, options.change.files, words, WHOLE_CHARACTERS)
        shown = sum(map(len, whole.values()))
        room = min(room, max(LEAST_HINTS, shown // _HINTS_SHARE) if shown else ONE_ORDER_HINTS)
    hints = hints_of(
        base,
        *(paths, (words, room, tuple(whole))),
        make=lambda: read_repo_hints(tree.files, words, room, tree.projects, whole).text,
    )
    said = render_conventions(tree.files, room // _CONVENTIONS_SHARE, whole)
    text = "\n\n".join(filter(None, (*whole.values(), hints, said)))
    return RepoInputs(
        tree.root,
        paths,
        tree.files,
        text,
        tuple(whole),
        tree.verification,
        base,
        lambda: committed_files(tree),
    )


def looks_of(options: PlanOptions, inputs: CompileInputs, machine: Machine) -> Looks:
    """Return the looks at the repository that a planning may take.

    They are for repositories with code. The short prompt of a single change offers none.
    """
    repo = inputs.repo
    if inputs.change is not None or not options.look_tokens or not has_code(repo.files):
        return Looks(0, 0)
    script = (f"bash {VERIFY_SCRIPT}",) if VERIFY_SCRIPT in repo.files else ()
    return Looks(
        options.look_rounds,
        _TOKEN_CHARACTERS * options.look_tokens,
        repo.open_committed,
        tuple(each.text for each in repo.verification) or script,
        machine,
        options.ask_person,
        frozenset(each.id for each in inputs.spec.answers),
    )
