"""Judges a tree by verification, postconditions and acceptance.

The tree is what a proposal wrote or, later, what a landing merged.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from factory.judging.acceptance_evidence import (
    chooses_tests,
    command_without_tests,
    left_out_by_configuration,
)
from factory.judging.environment_faults import Fault, find_fault, surroundings_of
from factory.judging.failure_brief import (
    account_of,
    brief_of,
    brief_of_fault,
    brief_of_success,
    cut,
    with_facts,
)
from factory.judging.proof import (
    NOTHING_KNOWN,
    NOTHING_RED,
    FewerTests,
    KnownCommit,
    KnownRed,
    RedCheck,
    find_fewer_tests,
    more_failures,
    takes_away,
    verified_by,
    warnings_on,
    why_nothing_is_proven,
)
from factory.judging.run_checks import (
    Check,
    LookUp,
    Ran,
    Trial,
    likely_cause,
    observe,
    parse_check,
    record_results,
    run_check,
    verification_key,
)
from factory.orders.documents import CmdResult, CountedTests, FailureBrief
from factory.orders.stages import AttemptStage, Stage
from factory.preflight import name_paths
from factory.proposal.scope import FileKind
from factory.sandbox.policy import Cause, Ended
from factory.workbench.dependencies import RegistryUnreachable
from factory.workbench.leftovers import Undone
from factory.workbench.pool import Workbench
from factory.workbench.tree import NotReadable, Tree
from shared.errors import EnvironmentFault, InvalidInput
from shared.events.events import CommandEnded, CommandStarted
from shared.languages.registry import LANGUAGES, is_test_file, steering
from shared.projects.build_tools import LOCK_FILES
from shared.work_order.work_order import WorkOrder


def follow_manifests(bench: Workbench, order: WorkOrder) -> FailureBrief | None:
    """Install what the tree declares, for commands; return the brief of a failure to do so.

    A registry that cannot be reached is the environment's fault. Anything else that an installer
    refuses is due to what the manifests say.
    """
    try:
        bench.follow_manifests((*order.allowed_files, *(e.path for e in order.acceptance_files)))
    except RegistryUnreachable as error:
        brief = brief_of(Stage.VERIFY_FAILED, order, error.message)
        return brief_of_fault(Fault(error.message.splitlines()[0], error.hint), brief)
    except (InvalidInput, EnvironmentFault) as error:
        return brief_of(Stage.VERIFY_FAILED, order, error.message)
    return None


def not_installed(ended: Ended, tree: Tree, written: Collection[str]) -> tuple[str, ...]:
    """Return sentences on what a failed command missed and the written manifests declare."""
    return tuple(
        f"{what} is not installed. {path} declares it, but what an order declares is installed "
        "with --deps auto alone."
        for path in written
        for what in _missed(path, ended.output, tree)
    )


def _missed(path: str, output: str, tree: Tree) -> Iterator[str]:
    for language in LANGUAGES:
        if language.packages is not None and language.packages.declares(path):
            yield from language.packages.not_installed(_text(tree, path), output)


def _text(tree: Tree, path: str) -> str:
    try:
        return tree.read(path).decode("utf-8", "replace")
    except NotReadable:
        return ""


def harm_in(undone: Undone, trial: Trial) -> tuple[str, ...]:
    """Return the files by which a command may have bent what the next one judges.

    Those are files of the tree that it changed, files that it brought back although the order
    removes them, and files that a test runner would take for its own. What the verification did
    before the order already is not the order's fault, unless the order writes or removes the file.
    A lock file that a build tool brings up to date is undone like all else, and says nothing of the
    code.
    """
    steering = (
        path
        for path in (*undone.made, *undone.hidden)
        if path in trial.removed or _is_read_by_tests(path, trial.tree)
    )
    found = dict.fromkeys((*undone.changed, *steering))
    if not found:
        return ()
    own = {*trial.written, *trial.removed}
    before = trial.known().touched
    return tuple(
        path
        for path in found
        if path in own or not (path in before or path.rpartition("/")[2] in LOCK_FILES)
    )


def _is_read_by_tests(path: str, tree: Tree) -> bool:
    """Return whether a runner would read a file at `path`, which is gone again.

    A folder that a command made went with it. So caches and copies of tests in a folder of their
    own do not count: a runner that reads one there brings it along itself.
    """
    folder, _, name = path.rpartition("/")
    if steering(path):
        return True
    if folder and tree.kind_of(folder) is not FileKind.FOLDER:
        return False
    return name == _IGNORE_FILE or is_test_file(path)


def describe_tampering(changed: Sequence[str], trial: Trial) -> str:
    """Return the account of a failure by commands that changed or made the files `changed`."""
    order = trial.order
    placed = {each.path for each in order.acceptance_files}
    tests = [path for path in changed if path in placed]
    back = [path for path in changed if path in order.removed_files]
    written = [path for path in changed if path in trial.written and path not in placed]
    beside = [path for path in changed if path not in {*tests, *back, *written}]
    accounts: list[str] = []
    if written:
        accounts.append(
            f"a command changed {name_paths(written)} after it was written; what is committed "
            "must be exactly what was proposed"
        )
    if tests:
        accounts.append(
            f"a command changed the plan's own test {name_paths(tests)}; it must stay byte for "
            "byte as the work order has it"
        )
    if back:
        accounts.append(
            f"a command made {name_paths(back)} again, which the order removes; what is committed "
            "must be exactly what was judged"
        )
    if beside:
        accounts.append(
            f"a command changed {name_paths(beside)}, which the order does not write; each command "
            "judges exactly what is committed, so code and tests must leave the repository's files "
            "as they are and write to a temporary folder"
        )
    return "\n".join(accounts)


_IGNORE_FILE: Final = ".gitignore"  # git takes it for a rule of the tree


@dataclass(frozen=True, slots=True)
class Judgement:
    """Hold the results of the commands; `brief` says what failed, if anything did.

    `known` is what the verification showed. `warnings` are about checks that passed but prove
    less than they seem to. `verified` is the key of the verification; empty if a part of it
    failed. `exempt` says why the verification only compiled the code, if it did.
    """

    verify: tuple[CmdResult, ...]
    acceptance: tuple[CmdResult, ...]
    brief: FailureBrief | None
    known: KnownCommit = NOTHING_KNOWN
    verified: str = ""
    warnings: tuple[str, ...] = ()
    exempt: str = ""

    @property
    def found_nothing(self) -> bool:
        """Return whether the verification failed because a command found nothing to run."""
        last = self.verify[-1] if self.brief and self.verify else None
        return bool(last and last.exit_code and last.tests and not last.tests.ran)


@dataclass(slots=True)
class _Phase:
    """Hold one series of commands, their results, and the brief of a failure.

    `known` looks up which checks may fail, and `red` collects those that did. `proven` are commands
    that came to a success of their own and left the tree as it was. `tests` collects the
    tests that commands reported, `silent` the commands that succeeded and reported none, and
    `touched` the files that commands changed or made.
    """

    stage: Stage
    purpose: AttemptStage
    known: LookUp = lambda: NOTHING_RED
    results: list[CmdResult] = field(default_factory=list)
    red: dict[str, RedCheck] = field(default_factory=dict)
    proven: dict[tuple[str, ...], Ran] = field(default_factory=dict)
    tests: dict[str, CountedTests] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    brief: FailureBrief | None = None


def run_checks(trial: Trial) -> Judgement:
    """Run every check up to the first that fails. Raises `CommandFailed` if a log is refused."""
    if refused := follow_manifests(trial.bench, trial.order):
        return Judgement((), (), refused)
    verify = _Phase(Stage.VERIFY_FAILED, AttemptStage.VERIFY, lambda: trial.known().red)
    key = _verification_key(trial)  # before a command can change what it depends on
    _run_phase(verify, trial.checks, trial)
    fewer = None
    if verify.brief is None:
        fewer = find_fewer_tests(trial.known().tests, verify.tests, verify.silent)
        verify.brief = _too_few(fewer, verify, trial)
    record_results(trial, "verify_result.json", verify.results)
    if verify.brief:
        return Judgement(tuple(verify.results), (), verify.brief, exempt=trial.exempt)
    touched = trial.known().touched if verify.touched else frozenset()
    known = KnownCommit(KnownRed(verify.red), verify.tests, touched | verify.touched)
    trial.learn(known)
    acceptance = _Phase(Stage.ACCEPTANCE_FAILED, AttemptStage.ACCEPT)
    missing = [each.path for each in trial.order.postconditions if not trial.tree.exists(each.path)]
    if missing:
        problem = f"postcondition not met, no such file: {name_paths(missing)}"
        acceptance.brief = brief_of(acceptance.stage, trial.order, trial.excerpt(problem))
    else:
        commands = tuple(parse_check(each) for each in trial.order.acceptance_commands)
        _run_phase(acceptance, commands, trial, verify.proven)
        if acceptance.brief is None:
            acceptance.brief = _without_tests(acceptance, trial)
    record_results(trial, "acceptance_result.json", acceptance.results)
    proof = verified_by(verify.results, acceptance.results, trial.exempt)
    return Judgement(
        verify=tuple(verify.results),
        acceptance=tuple(acceptance.results),
        brief=acceptance.brief,
        known=known,
        verified="" if verify.red else key,
        warnings=() if acceptance.brief else tuple(warnings_on(proof, fewer, trial.order)),
        exempt=trial.exempt,
    )


def _verification_key(trial: Trial) -> str:
    """Return the key of the verification; "" if its success would not be worth keeping."""
    if trial.exempt or not trial.staged:
        return ""
    return verification_key(trial.staged, trial.checks, trial.bench, trial.options)


_NOT_PROVEN: Final[Mapping[tuple[str, ...], Ran]] = {}


def _run_phase(
    phase: _Phase,
    checks: Sequence[Check],
    trial: Trial,
    proven: Mapping[tuple[str, ...], Ran] = _NOT_PROVEN,
) -> None:
    """Run the commands up to the first that fails; if none does, check the written files.

    Those that are `proven` on the same tree are not run again: their results are used.
    """
    trial.progress.begin_stage(trial.attempt, phase.purpose)
    for number, check in enumerate(checks, 1):
        name = f"{phase.purpose}_{number}"
        if before := proven.get(check.argv):
            ran = _use_again(before, check, trial, phase.purpose)
        else:
            ran = run_check(check, trial, phase.purpose, phase.known, name)
        result, ended = ran.result, ran.ended
        phase.results.append(result)
        phase.touched.update(ran.undone.all)
        if result.tests is not None:
            phase.tests[check.text] = result.tests
        if check.passes(ended, trial.bench.workspace.files):
            if harm := harm_in(ran.undone, trial):
                account = trial.excerpt(describe_tampering(harm, trial))
                phase.brief = brief_of_success(phase.stage, trial.order, account, result)
                return
            if not (result.exit_code or result.flaky or ran.undone.all):
                phase.proven[check.argv] = ran
            if result.tests is None:  # also where it printed more than is kept
                phase.silent.add(check.text)
            configured = trial.configures_tests
            why = why_nothing_is_proven(check.text, result.tests, configured=configured)
            if why and phase.purpose is AttemptStage.ACCEPT:
                phase.brief = brief_of_success(phase.stage, trial.order, why, result)
                return
            continue
        now = RedCheck.of(ended, trial.files)
        known = phase.known()
        if check.allowed_by(known, now):
            phase.red[check.text] = now
            continue
        brief = _failed_command(phase, check, ended, trial)
        phase.brief = _billed(_compared(brief, known, now), check, ended, trial)
        return


_AS_VERIFIED: Final = "not run again: the verification just ran it on this tree"


def _use_again(before: Ran, check: Check, trial: Trial, purpose: AttemptStage) -> Ran:
    """Return how a command ended, for another purpose on the same tree; events and record say so.

    Each command begins on the tree that would be committed, so it would end as it did.
    """
    result = before.result.model_copy(update={"note": _AS_VERIFIED, "duration_seconds": 0.0})
    order, code = trial.order.id, result.exit_code
    trial.emit(CommandStarted(order, purpose, check.text))
    trial.emit(CommandEnded(order, purpose, check.text, code, 0.0, _AS_VERIFIED))
    return replace(before, result=result)


def _without_tests(phase: _Phase, trial: Trial) -> FailureBrief | None:
    """Return the brief of a command that passed without the plan's tests, if there is one."""
    found = command_without_tests(trial, phase.tests)
    if found is None:
        return None
    command, why = found
    argv = parse_check(command).argv
    result = next(each for each in phase.results if each.command == argv)
    return brief_of_success(phase.stage, trial.order, why, result)


def _too_few(fewer: FewerTests | None, phase: _Phase, trial: Trial) -> FailureBrief | None:
    """Return the brief of a verification that succeeded with too few tests, if it is refused.

    It is where no test is seen to have run, and where the change tells the runner to leave some
    out that it still has, and the order takes nothing away.
    """
    if fewer is not None and fewer.is_refused(trial.order, is_new=trial.starts_tests_anew):
        command, why = fewer.command, f"{fewer.describe()}."
        if fewer.now is None:
            why += (
                " Nothing shows that a test ran: have the test runner print its summary as before."
            )
    elif left := _left_out(fewer, phase, trial):
        command, why = left
    else:
        return None
    ran = zip(trial.checks, phase.results, strict=False)
    named = (result for check, result in ran if check.text == command)
    return brief_of_success(phase.stage, trial.order, why, next(named, phase.results[-1]))


_NONE_RAN: Final = CountedTests(passed=0, failed=0, skipped=0)


def _left_out(fewer: FewerTests | None, phase: _Phase, trial: Trial) -> tuple[str, str] | None:
    """Return a command whose tests the change leaves out, and an account.

    Where it brings tests too, the number need not have fallen, so it does not say that all is well.
    """
    if takes_away(trial.order) or not trial.configuring:
        return None
    before = {command: each.ran for command, each in trial.known().tests.items() if each.ran}
    if before and not chooses_tests(trial):
        before = {each: ran for each, ran in before.items() if fewer and each == fewer.command}
    ran = {**dict.fromkeys(phase.silent, _NONE_RAN), **phase.tests}
    old = {c.stands_for: c.text for c in trial.checks if c.stands_for and c.text in ran}
    suspect = (
        # What a command ran before the order runs as well: it may leave tests to that.
        old[name] if name in old and ran[old[name]].ran >= number else name
        for name, number in before.items()
    )
    return left_out_by_configuration(trial, {each: ran[each] for each in suspect if each in ran})


def _compared(brief: FailureBrief, known: KnownRed, now: RedCheck) -> FailureBrief:
    """Return the brief with a first line on what fails beyond what failed before the order."""
    before = known.checks.get(brief.command or "")
    if before is None:
        return brief
    account = f"{more_failures(before, now)}\n{brief.primary_error_excerpt}"
    return brief.model_copy(update={"primary_error_excerpt": cut(account)})


_OLD_SCRIPT: Final = (
    "`{command}` ran this before the change, which has another script for it, and both have to pass"
)
_NEW_SCRIPT_ALONE: Final = (
    "{why}; where it is to replace the test runner, pass --verify {quoted}, which runs the new "
    "script alone"
)


def _billed(brief: FailureBrief, check: Check, ended: Ended, trial: Trial) -> FailureBrief:
    """Return the brief as a fault of the environment, if that is what made the command fail.

    What the old script of a command lacks, the change itself may have taken away.
    """
    around = surroundings_of(trial.bench, trial.options, trial.task.base, trial.written)
    fault = find_fault(ended, around)
    old = check.stands_for
    why = _OLD_SCRIPT.format(command=old)
    if fault is not None:
        if old and fault.besides is not None:
            remedy = _NEW_SCRIPT_ALONE.format(why=why, quoted=shlex.quote(old))
            fault = replace(fault, remedy=remedy)
        return brief_of_fault(fault, brief)
    if old:
        brief = with_facts(brief, (f"{why}.",))
    if trial.options.install_dependencies:
        return brief
    return with_facts(brief, not_installed(ended, trial.tree, tuple(trial.written)))


def _failed_command(phase: _Phase, check: Check, ended: Ended, trial: Trial) -> FailureBrief:
    account = account_of(
        ended,
        trial.stable(_reason(ended, trial.options.settings.timeout_seconds)),
        trial.stable,
        lambda argv: observe(argv, trial, f"{phase.purpose}_{len(phase.results)}_values"),
    )
    return brief_of(
        phase.stage,
        trial.order,
        account.excerpt or "(the command printed nothing)",
        command=check.text,
        exit_code=ended.exit_code,
        log=trial.name_of(account.stream.log),
        facts=account.facts,
        counterexamples=account.counterexamples,
    )


def _reason(ended: Ended, timeout_seconds: float) -> str:
    match ended.cause:
        case Cause.EXITED:
            return ended.doubt
        case Cause.TIMED_OUT:
            ended_after = f"The command was ended after {timeout_seconds:g} seconds."
            cause = likely_cause(ended.output)
            return f"{ended_after} {cause}".rstrip()
        case Cause.NOT_FOUND:
            return f"There is no program {ended.argv[0]!r} here."
        case Cause.OUTPUT_LIMIT:
            return "The command was ended because it printed too much."
        case Cause.CPU_LIMIT:
            return "The command was ended because it used too much processor time."
        case Cause.SIGNALLED | Cause.NOT_STARTED:
            return ended.reason or f"The command ended with {ended.cause}."
