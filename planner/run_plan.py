"""Goes the whole way from a specification to a folder, and returns the outcome.

spec -> prompt -> reply -> plan -> report -> revision -> review -> manifest -> folder.

`planner.compile.inputs` reads the spec, the template and the repo. `planner.compile.compile_loop`
goes from the prompt to the reviewed plan. `planner.plan.manifest` seals the plan, and
`shared.work_order.plan_folder` writes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.compile.compile_loop import Compilation, compile_plan
from planner.compile.compile_record import (
    AFTER_CUT,
    CompileRecord,
    check_export,
    earlier_replies,
    end_killed_plans,
    export_plan,
    summarised,
)
from planner.compile.dry_run import DryRun
from planner.compile.inputs import (
    CompileInputs,
    PlannerModel,
    PlanOptions,
    gather_inputs,
    looks_of,
    plans_in_stages,
    settings_document,
)
from planner.compile.judge_reply import Judged, PlanJudge, chosen, remarks_on, remarks_on_kept
from planner.plan.file_projection import TargetRepo
from planner.plan.manifest import PlanOrigin, build_manifest, no_base, with_open_points
from planner.replan.merge_plans import PlanChange, change_of, no_change
from planner.repo.looks import SpecAnswered
from planner.repo.machine import Machine, OwnQuestions, known_answers, recorded
from planner.rules.judge_plan import Report
from shared.errors import LlmchError, ModelUnavailable, ReplyUnparseable
from shared.events.events import Emit, Noted, PlanEnded, PlanStarted, Warned
from shared.events.run_record import (
    ModelSettings,
    Recording,
    RunFolder,
    new_run_folder,
    new_run_id,
    recorded_run,
)
from shared.files.atomic_io import make_folder
from shared.files.paths import VERIFY_SCRIPT
from shared.languages.language_tools import ToolRunner, Tools
from shared.languages.registry import warm_up
from shared.llm.stack import Mode, Model, ModelSource, open_model, transcript_of
from shared.llm.usage import Tally, usage_counted, usage_record
from shared.work_order.parse_order import order_key, parse_document
from shared.work_order.plan_folder import write_plan
from shared.work_order.work_order import Assumption, Manifest

if TYPE_CHECKING:
    from planner.replan.predecessor import FollowUp
    from planner.repo.looks import Looks


@dataclass(frozen=True, slots=True)
class PlanResult:
    """Hold the outcome of a planning run: where the valid plan is, or why there is none."""

    ok: bool
    attempts: int
    work_orders: int
    run_id: str
    run_dir: Path
    output_dir: Path | None
    report: Report
    tally: Tally
    error: LlmchError | None
    """The error that ends the command where the model's last reply could not even be judged."""
    unchanged: bool = False
    """Whether the plan before carries out the spec already: no model was asked then."""
    change: PlanChange | None = None
    """The changes to the plan that this one follows, if it follows one and is valid."""
    assumptions: tuple[Assumption, ...] = ()
    """What a valid plan reads into the specification."""
    looked: Mapping[str, Any] = field(default_factory=dict)
    """How often the model looked at the repo first, and what these calls took; empty for never."""


def plan_document(result: PlanResult) -> dict[str, Any]:
    """Return what `plan --json` prints; the last keys where the model looked, or a plan follows."""
    return {
        "ok": result.ok,
        "attempts": result.attempts,
        "work_orders": result.work_orders,
        "run_id": result.run_id,
        "run_dir": str(result.run_dir),
        "output_dir": str(result.output_dir) if result.output_dir else None,
        "findings": result.report.to_json()["findings"],
        "usage": asdict(usage_record(result.tally)),
        "assumptions": [each.to_json() for each in result.assumptions],
        **({"looks": result.looked} if result.looked else {}),
        **_change_document(result),
    }


def looks_document(looks: Looks) -> Mapping[str, Any]:
    """Return what the records say of the looks of a planning; nothing where there were none."""
    if not looks.rounds:
        return {}
    usage = asdict(usage_record(Tally(live=looks.spent)))
    return {"rounds": looks.rounds, "seen": [*looks.asked], "usage": usage}


def _change_document(result: PlanResult) -> dict[str, Any]:
    if result.change is None:
        return {}
    return {"unchanged": result.unchanged, "change": result.change.to_json()}


def run_plan(
    options: PlanOptions,
    source: ModelSource,
    emit: Emit,
    runner: ToolRunner | None = None,
    trial: ToolRunner | OwnQuestions | None = None,
) -> PlanResult:
    """Compile the spec and return the outcome.

    `runner` has the compilers that judge a plan, and `trial` tries its commands on the files that
    the plan begins with. Where the model asks and a person answers, the planning begins anew with
    the answers, as a run of its own.

    Raises `InvalidInput` before any model call where an input or the export cannot be used, and
    the model layer's errors where asking again would not help.
    """
    with contextlib.ExitStack() as opened:
        if trial is not None:
            opened.callback(trial.close)
        machine = _machine(source, trial)
        for _ in range(options.look_rounds):
            with contextlib.suppress(SpecAnswered):
                return _run_plan(options, source, emit, runner, machine)
        return _run_plan(replace(options, ask_person=None), source, emit, runner, machine)


def _run_plan(
    options: PlanOptions,
    source: ModelSource,
    emit: Emit,
    runner: ToolRunner | None,
    machine: Machine,
) -> PlanResult:
    inputs = gather_inputs(options, emit, machine)
    if options.outdir is not None:
        check_export(options.outdir, overwrite=options.overwrite, repo=inputs.repo.root)
    end_killed_plans(options.artifacts / "planner")
    earlier = () if options.anew else (*earlier_replies(options.artifacts, inputs.compile_hash),)
    folder = new_run_folder(options.artifacts, "planner", new_run_id())
    with (
        recorded_run(folder, _head(options, inputs, source), emit) as recording,
        open_model(source, folder.path, recording.emit, earlier) as model,
    ):
        if inputs.task is not None:
            for remark in remarks_on(inputs.task, template=options.template is not None):
                recording.emit(Warned(remark))
            if inputs.task.is_empty:
                kept = _copied(inputs.task, options)
                return _unchanged(inputs.task, kept, folder, model.meter.run, recording)
        stages = 2 if plans_in_stages(options, inputs) else 1
        most = stages * options.max_attempts
        recording.emit(PlanStarted(str(options.spec), folder.run_id, most))
        if earlier and source.mode is Mode.LIVE:
            recording.emit(Noted(f"going on from the replies in {earlier[0].transcript}"))
        looks = looks_of(options, inputs, machine)
        if looks.left:
            recording.emit(Noted(f"the model may look first: {looks.forecast}", detail=True))
        with recorded(machine, transcript_of(source, folder.path)):
            attempts = _compile(options, inputs, model, recording, runner, machine, looks)
        outcome = chosen(attempts)
        assert outcome is not None, "at least one attempt is made"
        manifest = _manifest(outcome, inputs, folder.run_id)
        output = _write(manifest, options, folder.path)
        recording.results.update(_identities(manifest))
        result = PlanResult(
            ok=outcome.ok,
            attempts=len(attempts),
            work_orders=len(manifest.work_orders) if manifest else 0,
            run_id=folder.run_id,
            run_dir=folder.path,
            output_dir=output,
            report=outcome.report,
            tally=model.meter.run,
            error=_error(outcome, folder.path),
            change=_change(outcome),
            assumptions=manifest.assumptions if manifest else (),
            looked=looks_document(looks),
        )
        recording.emit(usage_counted(result.tally))
        recording.emit(_ended(result, manifest))
        recording.results.update(
            ok=result.ok, attempts=result.attempts, usage=asdict(usage_record(result.tally))
        )
        recording.results.update({"looks": result.looked} if result.looked else {})
    return result


def _compile(
    options: PlanOptions,
    inputs: CompileInputs,
    model: Model,
    recording: Recording,
    runner: ToolRunner | None,
    machine: Machine,
    looks: Looks,
) -> Sequence[Judged]:
    """Return all attempts. The run's folder records how they ended, also where an error did."""
    folder = recording.folder.path
    record = CompileRecord(make_folder(folder / "compile"), recording.emit)
    with (
        summarised(folder, settings_document(options)) as attempts,
        Tools(runner) as tools,
    ):
        if inputs.change is not None:
            warm_up(tools, inputs.change.files or inputs.repo.files)
        target = TargetRepo(frozenset(inputs.repo.files), inputs.repo.sources, inputs.allowed)
        dry_run = DryRun(machine, target, recording.emit) if options.dry_run else None
        judge = PlanJudge(inputs, tools, dry_run)
        if inputs.task is not None:
            for remark in remarks_on_kept(judge.before(inputs.task), inputs.task):
                recording.emit(Warned(remark))
        compilation = Compilation(
            inputs=inputs,
            model=options.model,
            reviewer=options.reviewer,
            review_all=options.review_all,
            client=model.client,
            judge=judge,
            record=record,
            max_attempts=options.max_attempts,
            at_once=model.at_once,
            is_staged=plans_in_stages(options, inputs),
            looks=looks,
        )
        attempts.extend(compile_plan(compilation))  # the list keeps the attempts before an error
    return attempts


def _machine(source: ModelSource, trial: ToolRunner | OwnQuestions | None) -> Machine:
    """Return what tries commands; in a replay it only repeats what was found then."""
    if source.mode is Mode.REPLAY:
        return Machine(None, known_answers(source.transcript) if source.transcript else {})
    if isinstance(trial, OwnQuestions):
        return Machine(None, own=trial.runner)
    return Machine(trial)


def _copied(task: FollowUp, options: PlanOptions) -> Path:
    """Copy the plan before to the folder asked for; return the folder to continue with."""
    before = task.predecessor
    if options.outdir is None or options.outdir.resolve() == before.folder.resolve():
        return before.folder
    manifest = parse_document(Manifest, before.plan.document)
    export_plan(options.outdir, manifest, before.folder)
    return options.outdir


def _unchanged(
    task: FollowUp, output: Path, folder: RunFolder, tally: Tally, recording: Recording
) -> PlanResult:
    """Return the outcome where the plan before carries out all that the spec requires.

    `output` is the folder that has the plan.
    """
    before = task.predecessor
    copied = f"; {output} is a copy of it" if output != before.folder else ""
    recording.emit(
        Noted(
            "no requirement of the specification has changed: "
            f"the plan in {before.folder} stays as it is, and no model was asked{copied}"
        )
    )
    recording.results.update(ok=True, attempts=0, unchanged=True)
    return PlanResult(
        ok=True,
        attempts=0,
        work_orders=len(before.plan.drafts),
        run_id=folder.run_id,
        run_dir=folder.path,
        output_dir=output,
        report=Report(()),
        tally=tally,
        error=None,
        unchanged=True,
        change=no_change(task),
        assumptions=before.plan.assumptions,
    )


def _change(outcome: Judged) -> PlanChange | None:
    if outcome.plan is None or outcome.answer is None or not outcome.ok:
        return None
    return change_of(outcome.plan, outcome.answer)


def _manifest(outcome: Judged, inputs: CompileInputs, run_id: str) -> Manifest | None:
    """Return the manifest of a valid plan, or `None` without a valid plan."""
    if not outcome.ok:
        return None
    assert outcome.plan is not None, "a valid plan was parsed"
    plan = with_open_points(outcome.plan, inputs.spec.open_points)
    origin = PlanOrigin(run_id, inputs.compile_hash)
    verified = bool(inputs.repo.verification) or VERIFY_SCRIPT in inputs.repo.files
    own = outcome.answer.own if outcome.answer else None
    base = inputs.repo.base.base_files if inputs.repo.base else no_base
    return build_manifest(
        plan,
        inputs.repo.files,
        origin,
        verified=verified,
        own=own,
        base=base,
        name=inputs.spec.title,
    )


def _write(manifest: Manifest | None, options: PlanOptions, run_dir: Path) -> Path | None:
    """Write the plan into the run's folder, export it, and return the folder to continue with."""
    if manifest is None:
        return None
    output = run_dir / "output"
    write_plan(output, manifest)
    if options.outdir is None:
        return output
    export_plan(options.outdir, manifest, output)
    return options.outdir


def _error(outcome: Judged, run_dir: Path) -> LlmchError | None:
    """Return the error that ends the command where the last reply could not even be judged."""
    if outcome.failure:
        hint = f"the prompts are in {run_dir}" + (f"; {AFTER_CUT}" if outcome.is_cut else "")
        return ModelUnavailable(f"the model gave no usable reply: {outcome.failure}", hint)
    if outcome.plan is not None and not outcome.plan.is_json:
        return ReplyUnparseable(
            "the model's last reply was not a JSON document",
            f"see {run_dir}/compile; another --planner-model may do better",
        )
    return None


def _ended(result: PlanResult, manifest: Manifest | None) -> PlanEnded:
    orders = manifest.work_orders if manifest else ()
    titles = tuple(f"{order.id}  {order.title}" for order in orders)
    output = str(result.output_dir or "")
    return PlanEnded(result.ok, result.attempts, titles, output, str(result.run_dir))


def _identities(manifest: Manifest | None) -> Mapping[str, Any]:
    """Return the entries of `run.json` on a valid plan: its hash, and the key of each order."""
    if manifest is None or manifest.provenance is None:
        return {}
    return {
        "manifest_sha256": manifest.provenance.manifest_sha256,
        "orders": [{"id": each.id, "order_key": order_key(each)} for each in manifest.work_orders],
    }


def _head(options: PlanOptions, inputs: CompileInputs, source: ModelSource) -> Mapping[str, Any]:
    """Return the entries that `run.json` has from the start of the run."""
    reviewer, reviewer_url = options.reviewer, source.reviewer_base_url or source.base_url
    return {
        "command": "plan",
        "spec": str(options.spec),
        "spec_sha256": inputs.spec.sha256,
        "template_sha256": inputs.template.sha256,
        "compile_hash": inputs.compile_hash,
        "repo": str(options.repo.resolve()) if options.repo else None,
        "branch": options.branch,
        "repo_files": len(inputs.repo.files),
        "verification": [each.text for each in inputs.repo.verification],
        "outdir": str(options.outdir.resolve()) if options.outdir else None,
        **({"follows": options.follows.facts.manifest_sha256} if options.follows else {}),
        **settings_document(options),
        "model_settings": _model_settings(options.model, source, source.base_url),
        "reviewer_settings": _model_settings(reviewer, source, reviewer_url) if reviewer else None,
    }


def _model_settings(model: PlannerModel, source: ModelSource, base_url: str) -> dict[str, Any]:
    """Return the settings that a request to the model carries."""
    request = model.request("", 1)
    return ModelSettings(
        models=(request.model,),
        temperature=request.temperature,
        max_output_tokens=request.max_output_tokens,
        reasoning_effort=request.reasoning_effort,
        replies=source.mode,
        base_url=base_url,
    ).to_json()
