"""`plan`: from a spec file to a plan on disk, recorded whatever comes of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.compiler import CompileInputs, Judged, chosen, compile_plan
from planner.io import check_export, export_plan, write_plan
from planner.manifest import Origin, build_manifest, compile_hash
from planner.openai_client import PlannerModel
from planner.projection import exempted_orders
from planner.prompt_template import Template, default_doctrine, load_template
from planner.repo import open_repo
from planner.repo_hints import read_repo_hints
from planner.repo_sources import RepoSources
from planner.spec import Spec, read_spec
from planner.summary import errors_document, succeeded, summary_document
from planner.target import NOTHING_MORE, Allowed
from planner.validation import Report
from shared.atomic_io import make_folder, write_json
from shared.errors import (
    CommandFailed,
    InvalidInput,
    LlmchError,
    ModelUnavailable,
    ReplyUnparseable,
)
from shared.events import Emit, PlanEnded, PlanStarted
from shared.hashing import canonical_json, order_key, sha256_bytes
from shared.llm.client import LlmClient
from shared.llm.stack import ModelSource, open_model
from shared.llm.usage import Tally, usage_counted, usage_document
from shared.run_context import ModelSettings, Recording, new_run_folder, new_run_id, recorded_run
from shared.schemas import WorkOrder

HINT_CHARACTERS = 24_000  # about 6,000 tokens: a tenth of what a plan's reply may take


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What to plan, with which model, and where to put it."""

    spec: Path
    artifacts: Path
    model: PlannerModel
    max_attempts: int
    repo: Path | None = None
    outdir: Path | None = None
    template: Path | None = None
    overwrite: bool = False
    require_coverage: bool = False
    allowed: Allowed = NOTHING_MORE
    reviewer: PlannerModel | None = None
    """The model that reviews a valid plan; none does where this is `None`."""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A valid plan, or the report of why there is none."""

    ok: bool
    attempts: int
    work_orders: int
    run_id: str
    run_dir: Path
    output_dir: Path | None
    report: Report
    tally: Tally
    error: LlmchError | None
    """What ends the command where the model's replies could not even be judged."""


def run_plan(options: PlanOptions, source: ModelSource, emit: Emit) -> PlanResult:
    """Compile the spec and return what came of it.

    Raises `InvalidInput` before any model call where an input or the export cannot be used, and
    what the model layer raises where asking again would not help.
    """
    spec = read_spec(options.spec)
    if options.outdir is not None:
        check_export(options.outdir, overwrite=options.overwrite)
    inputs = _gather(options, spec)
    run_id = new_run_id()
    digest = _compile_hash(options, spec, inputs.template)
    folder = new_run_folder(options.artifacts, "planner", run_id)
    with (
        recorded_run(folder, _head(options, inputs, digest, source), emit) as recording,
        open_model(source, folder.path, recording.emit) as model,
    ):
        recording.emit(PlanStarted(str(options.spec), run_id, options.max_attempts))
        attempts = _compile(options, inputs, model.client, recording)
        origin = Origin(run_id, digest)
        result = _conclude(options, inputs, origin, attempts, recording, model.meter.run)
        recording.results.update(
            ok=result.ok, attempts=result.attempts, usage=usage_document(result.tally)
        )
    return result


def plan_identity(options: PlanOptions) -> str:
    """Return the hash of what decides whether a plan on file is the one that is asked for now.

    That is what it was compiled from, and what it had to pass beside the rules. The repo is not:
    it changes as the plan's orders land. Nor is the review: a plan that was accepted without one
    stays accepted. Raises `InvalidInput` where spec or template cannot be used.
    """
    compiled = _compile_hash(options, read_spec(options.spec), load_template(options.template))
    return sha256_bytes(
        canonical_json(
            {
                "compile_hash": compiled,
                "require_coverage": options.require_coverage,
                "programs": sorted(options.allowed.programs),
                "dependencies": sorted(options.allowed.dependencies),
            }
        )
    )


def _compile_hash(options: PlanOptions, spec: Spec, template: Template) -> str:
    return compile_hash(
        spec=spec.sha256,
        template=template.sha256,
        model=options.model.model,
        reasoning_effort=options.model.reasoning_effort,
    )


def plan_document(result: PlanResult) -> dict[str, Any]:
    """Return what `plan --json` prints."""
    return {
        "ok": result.ok,
        "attempts": result.attempts,
        "work_orders": result.work_orders,
        "run_id": result.run_id,
        "run_dir": str(result.run_dir),
        "output_dir": str(result.output_dir) if result.output_dir else None,
        "findings": result.report.to_json()["findings"],
        "usage": usage_document(result.tally),
    }


def _gather(options: PlanOptions, spec: Spec) -> CompileInputs:
    template = load_template(options.template)
    files: tuple[str, ...] = ()
    sources: Mapping[str, str] = {}
    hints = ""
    if options.repo is not None:
        git = open_repo(options.repo)
        if options.outdir and options.outdir.resolve().is_relative_to(git.folder.resolve()):
            raise InvalidInput(
                f"--outdir {options.outdir} is inside the target repo",
                "choose a folder outside of it",
            )
        files = git.tracked_files()
        sources = RepoSources(git.folder, files)
        hints = read_repo_hints(git.folder, files, spec.text, HINT_CHARACTERS).text
    doctrine, required = default_doctrine(), options.require_coverage
    return CompileInputs(spec, template, doctrine, files, hints, required, sources, options.allowed)


def _compile(
    options: PlanOptions, inputs: CompileInputs, client: LlmClient, recording: Recording
) -> list[Judged]:
    """Return all attempts. However they end, the run's folder says how and why."""
    folder = recording.folder.path
    compile_folder = make_folder(folder / "compile")
    attempts: list[Judged] = []
    started = time.monotonic()
    cause: str | None = None
    try:
        attempts.extend(  # also where an error ends it: what came before is kept
            compile_plan(
                inputs,
                options.model,
                client,
                compile_folder,
                recording.emit,
                options.max_attempts,
                options.reviewer,
            )
        )
    except BaseException as error:
        cause = error.message if isinstance(error, LlmchError) else repr(error)
        raise
    finally:
        seconds = time.monotonic() - started
        if not succeeded(attempts):
            write_json(folder / "validation_errors.json", errors_document(attempts, cause))
        summary = summary_document(attempts, cause, seconds, _settings(options))
        write_json(folder / "compile_summary.json", summary)
    return attempts


def _conclude(
    options: PlanOptions,
    inputs: CompileInputs,
    origin: Origin,
    attempts: Sequence[Judged],
    recording: Recording,
    tally: Tally,
) -> PlanResult:
    last, folder = chosen(attempts), recording.folder
    assert last is not None, "one attempt at least is made"
    output: Path | None = None
    titles: tuple[str, ...] = ()
    if last.ok:
        manifest = _manifest(inputs, origin, last)
        titles = tuple(f"{order['id']}  {order['title']}" for order in manifest["work_orders"])
        output = folder.path / "output"
        write_plan(output, manifest)
        recording.results.update(
            manifest_sha256=manifest["provenance"]["manifest_sha256"],
            orders=[
                {"id": each["id"], "order_key": order_key(WorkOrder.model_validate(each))}
                for each in manifest["work_orders"]
            ],
        )
        if options.outdir is not None:
            _export(options.outdir, manifest, output)
            output = options.outdir
    recording.emit(usage_counted(tally))
    recording.emit(PlanEnded(last.ok, len(attempts), titles, str(output or ""), str(folder.path)))
    return PlanResult(
        ok=last.ok,
        attempts=len(attempts),
        work_orders=len(titles),
        run_id=folder.run_id,
        run_dir=folder.path,
        output_dir=output,
        report=last.report,
        tally=tally,
        error=_error(last, folder.path),
    )


def _export(outdir: Path, manifest: Mapping[str, Any], output: Path) -> None:
    try:
        export_plan(outdir, manifest)
    except CommandFailed as refused:
        raise CommandFailed(
            refused.message, f"the plan is not lost: copy it from {output}"
        ) from refused


def _manifest(inputs: CompileInputs, origin: Origin, judged: Judged) -> dict[str, Any]:
    plan = judged.plan
    assert plan is not None, "a valid plan was parsed"
    orders = exempted_orders(plan, inputs.repo_files)
    return build_manifest(
        plan.overview,
        plan.contract,
        orders,
        origin,
        plan.requirements,
        require_coverage=plan.require_coverage,
    )


def _error(last: Judged, run_dir: Path) -> LlmchError | None:
    if last.failure:
        return ModelUnavailable(
            f"the model gave no usable reply: {last.failure}", f"what was asked is in {run_dir}"
        )
    if last.plan is not None and not last.plan.is_json:
        return ReplyUnparseable(
            "the model's last reply was no JSON document",
            f"see {run_dir}/compile; another --model may do better",
        )
    return None


def _head(
    options: PlanOptions, inputs: CompileInputs, digest: str, source: ModelSource
) -> Mapping[str, Any]:
    reviewer_url = source.reviewer_base_url or source.base_url
    reviewer = options.reviewer
    return {
        "command": "plan",
        "spec": str(options.spec),
        "spec_sha256": inputs.spec.sha256,
        "template_sha256": inputs.template.sha256,
        "compile_hash": digest,
        "repo": str(options.repo.resolve()) if options.repo else None,
        "repo_files": len(inputs.repo_files),
        "outdir": str(options.outdir) if options.outdir else None,
        **_settings(options),
        "model_settings": _model_settings(options.model, source, source.base_url),
        "reviewer_settings": _model_settings(reviewer, source, reviewer_url) if reviewer else None,
    }


def _model_settings(model: PlannerModel, source: ModelSource, base_url: str) -> dict[str, Any]:
    """Return how a model is asked, as a request says it."""
    request = model.request("", 1)
    return ModelSettings(
        models=(request.model,),
        temperature=request.temperature,
        max_output_tokens=request.max_output_tokens,
        reasoning_effort=request.reasoning_effort,
        replies=source.mode,
        base_url=base_url,
    ).to_json()


def _settings(options: PlanOptions) -> dict[str, Any]:
    return {
        "model": options.model.model,
        "reasoning_effort": options.model.reasoning_effort,
        "max_output_tokens": options.model.max_output_tokens,
        "reviewer": options.reviewer.model if options.reviewer else None,
        "max_attempts": options.max_attempts,
        "require_coverage": options.require_coverage,
    }
