"""PO, the judging node: verification, postconditions, acceptance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import Runtime

from factory.excerpt import stable_excerpt
from factory.prompt import reminder
from factory.sandbox import Cause, Ended
from factory.schemas import CmdResult, FailureBrief, Stage, WriteProposal
from factory.scope import FileKind, FileState
from factory.state import FactoryContext, FactoryState
from factory.verification import Check, parse_check, verification_of
from shared.atomic_io import write_json
from shared.events import CommandEnded, CommandStarted, StageStarted
from shared.hashing import sha256_bytes


@dataclass(slots=True)
class _Phase:
    """One series of commands and what came of it."""

    stage: Stage
    purpose: str
    results: list[CmdResult] = field(default_factory=list)
    brief: FailureBrief | None = None


def judge(state: FactoryState, runtime: Runtime[FactoryContext]) -> dict[str, Any]:
    """Run every check on the written files and return the results, with a brief on failure."""
    context, proposal = runtime.context, state["proposal"]
    assert proposal is not None, "the router leads here only with a proposal"
    attempt, order = state["attempt"], context.order
    tree = context.workspace.tree

    verify = _Phase(Stage.VERIFY_FAILED, "verify")
    checks = verification_of(tree, exempt=context.exempt)
    _run_phase(verify, checks, context, attempt, proposal)
    _record(context, attempt, "verify_result.json", verify.results)
    if verify.brief:
        return {"verify": tuple(verify.results), "brief": verify.brief}

    acceptance = _Phase(Stage.ACCEPTANCE_FAILED, "accept")
    missing = [each.path for each in order.postconditions if not tree.exists(each.path)]
    if missing:
        acceptance.brief = _brief(
            context, acceptance.stage, f"postcondition not met, no such file: {', '.join(missing)}"
        )
    else:
        commands = tuple(parse_check(each) for each in order.acceptance_commands)
        _run_phase(acceptance, commands, context, attempt, proposal)
    _record(context, attempt, "acceptance_result.json", acceptance.results)
    return {
        "verify": tuple(verify.results),
        "acceptance": tuple(acceptance.results),
        "brief": acceptance.brief,
    }


def _run_phase(
    phase: _Phase,
    checks: Sequence[Check],
    context: FactoryContext,
    attempt: int,
    proposal: WriteProposal,
) -> None:
    """Run the commands up to the first that fails, then see that none touched a written file."""
    context.emit(StageStarted(context.order.id, attempt, phase.purpose))
    for number, check in enumerate(checks, 1):
        result, ended = _run_one(check, context, attempt, f"{phase.purpose}_{number}")
        phase.results.append(result)
        if not ended.ok and not (ended.cause is Cause.EXITED and result.note):
            phase.brief = _failed_command(phase.stage, check, ended, context)
            return
    tampered = _changed_by_commands(context, proposal)
    if tampered:
        phase.brief = _brief(
            context,
            phase.stage,
            f"a command changed {', '.join(tampered)} after it was written; what is committed "
            "must be exactly what was proposed",
        )


def _run_one(
    check: Check, context: FactoryContext, attempt: int, name: str
) -> tuple[CmdResult, Ended]:
    order, purpose = context.order.id, name.rpartition("_")[0]
    context.emit(CommandStarted(order, purpose, check.text))
    log = context.attempt_folder(attempt) / "logs" / name
    log.parent.mkdir(exist_ok=True)
    ended = context.sandbox.run(check.argv, timeout_seconds=context.timeout_seconds, log=log)
    note = check.note_for(ended.exit_code) or ""
    context.emit(
        CommandEnded(order, purpose, check.text, ended.exit_code, ended.duration_seconds, note)
    )
    return _result(ended, context, note), ended


def _result(ended: Ended, context: FactoryContext, note: str) -> CmdResult:
    def relative(log: object) -> str:
        return str(log).removeprefix(f"{context.folder}/")

    return CmdResult(
        command=ended.argv,
        exit_code=ended.exit_code,
        cause=ended.cause,
        stdout_trunc=_excerpt(ended.stdout.text, context),
        stderr_trunc=_excerpt(ended.stderr.text, context),
        stdout_path=relative(ended.stdout.log),
        stderr_path=relative(ended.stderr.log),
        duration_seconds=round(ended.duration_seconds, 3),
        sandbox=ended.backend,
        note=note or ended.reason,
    )


def _failed_command(
    stage: Stage, check: Check, ended: Ended, context: FactoryContext
) -> FailureBrief:
    output = "\n".join(
        text.strip() for text in (ended.stdout.text, ended.stderr.text) if text.strip()
    )
    reason = _reason(ended, context.timeout_seconds)
    return FailureBrief(
        stage=stage,
        command=check.text,
        exit_code=ended.exit_code,
        primary_error_excerpt=_excerpt("\n".join(filter(None, (reason, output))), context)
        or "(the command printed nothing)",
        constraints_reminder=reminder(stage, context.order),
        log=str(ended.stderr.log).removeprefix(f"{context.folder}/"),
    )


def _reason(ended: Ended, timeout_seconds: float) -> str:
    match ended.cause:
        case Cause.EXITED:
            return ""
        case Cause.TIMED_OUT:
            return f"The command was ended after {timeout_seconds:g} seconds."
        case Cause.NOT_FOUND:
            return f"There is no program {ended.argv[0]!r} here."
        case Cause.OUTPUT_LIMIT:
            return "The command was ended because it printed too much."
        case Cause.CPU_LIMIT:
            return "The command was ended because it used too much processor time."
        case Cause.SIGNALLED | Cause.NOT_STARTED:
            return ended.reason or f"The command ended with {ended.cause}."


def _changed_by_commands(context: FactoryContext, proposal: WriteProposal) -> list[str]:
    tree = context.workspace.tree
    return [
        write.path
        for write in proposal.writes
        # Not by the hash alone: a file that is gone has that of an empty one.
        if tree.state_of(write.path)
        != FileState(FileKind.FILE, sha256_bytes(write.content.encode()))
    ]


def _brief(context: FactoryContext, stage: Stage, message: str) -> FailureBrief:
    return FailureBrief(
        stage=stage,
        primary_error_excerpt=_excerpt(message, context),
        constraints_reminder=reminder(stage, context.order),
    )


def _excerpt(text: str, context: FactoryContext) -> str:
    return stable_excerpt(text, context.path_names.items())


def _record(context: FactoryContext, attempt: int, name: str, results: Sequence[CmdResult]) -> None:
    write_json(
        context.attempt_folder(attempt) / name,
        [result.model_dump(mode="json") for result in results],
        sync=False,
    )
