"""Submits a plan to a fleet: all that its coordinator needs goes into the queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from factory.fleet.jobs import Job, Kind
from factory.fleet.link import Link
from factory.fleet.plans.documents import PlanDocument
from factory.fleet.shared_options import shared_options
from factory.fleet.wire import render
from factory.orders.branch_name import default_branch
from factory.orders.options import RunOptions
from factory.orders.read import LoadedOrder
from factory.run.authorship import commit_terms
from shared.errors import InvalidInput, PreflightRefused
from shared.files.atomic_io import write_bytes
from shared.git import refs, remote_refs, repos, trees
from shared.git.client import Git
from shared.plan_folder.names import list_plan_files
from shared.run_record import new_run_id
from shared.settings.loading import PROJECT_FILES


@dataclass(frozen=True, slots=True)
class Target:
    """Say where a plan is to land: on a branch of a remote that begins at a branch's commit."""

    remote: str
    base_branch: str
    base: str

    @property
    def repo(self) -> str:
        """Return the name that a clone of the remote gets."""
        return Path(self.remote.rstrip("/")).name.removesuffix(".git")


@dataclass(frozen=True, slots=True)
class Submitted:
    """Name a submitted plan, and the branch that it lands on."""

    plan: str
    branch: str


def find_target(git: Git, remote: str, base_branch: str) -> Target:
    """Return where a plan begins: at the tip of the remote's branch, or of its default branch.

    `git` may be of any folder. Raises `InvalidInput` for a URL with a password and for a branch
    that does not exist, and `CommandFailed` where the remote does not answer.
    """
    if remote_refs.without_credentials(remote) != remote:
        raise InvalidInput(
            "the repo's URL has a password or a token, which would stand in the fleet's database",
            "leave it out: each worker's git has a credential of its own",
        )
    tips = remote_refs.branch_tips(git, remote)
    name = base_branch or remote_refs.default_branch(git, remote)
    if not base_branch and name not in tips and len(tips) == 1:
        (name,) = tips  # a remote whose HEAD nobody has set
    if name not in tips:
        raise InvalidInput(
            f"{remote} has no branch {name!r}" if name else f"{remote} has no default branch",
            f"name one with --base: {', '.join(sorted(tips)[:5]) or 'push a first commit'}",
        )
    return Target(remote, name, tips[name])


def fetch_project(target: Target, folder: Path) -> str:
    """Write the files of the target into `folder` that may hold settings, and return its base.

    Raises `CommandFailed` where the remote does not answer.
    """
    git, ref = Git(folder), f"refs/heads/{target.base_branch}"
    repos.initialise(git)
    remote_refs.fetch_refs(git, target.remote, (f"+{ref}:{ref}",), history=False)
    base = refs.commit_of(git, ref)
    for name in PROJECT_FILES:
        if (content := trees.content_of(git, base, name)) is not None:
            write_bytes(folder / name, content, sync=False)
    return base


def submit_plan(
    link: Link, workdir: Path, orders: Sequence[LoadedOrder], target: Target, options: RunOptions
) -> Submitted:
    """Queue a plan and return what `llmch fleet` knows it by.

    Raises `PreflightRefused` where the branch is protected or git does not allow its name.
    """
    plan = new_run_id()
    document = _document(workdir, orders, target, options)
    link.queue.put(
        Job(
            plan,
            Kind.COORDINATE,
            plan,
            {"plan": render(document)},
            # One coordinator at a time works on a branch.
            turn=f"{target.remote} {document.branch}",
            submission=plan,
            about=f"{target.repo} {document.branch}",
        )
    )
    return Submitted(plan, document.branch)


def _document(
    workdir: Path, orders: Sequence[LoadedOrder], target: Target, options: RunOptions
) -> PlanDocument:
    settings, git = options.settings, Git(workdir)
    branch = options.branch or default_branch(orders)
    if branch in settings.protected_branches:
        raise PreflightRefused(
            f"branch {branch!r} is protected: llmch never commits to it",
            "name another branch with --branch, and merge it yourself after review",
        )
    if not refs.branch_name_allowed(git, branch):
        raise PreflightRefused(
            f"git refuses {branch!r} as the name of a branch",
            "`git help check-ref-format` lists the rules for a branch name",
        )
    terms = commit_terms(git, settings.commit, None)
    names = list_plan_files(workdir)
    return PlanDocument(
        remote=target.remote,
        repo=target.repo,
        base_branch=target.base_branch,
        base=target.base,
        branch=branch,
        files={name: (workdir / name).read_text("utf-8") for name in names},
        author=terms.author,
        subject=settings.commit.subject,
        date=terms.date,
        options=shared_options(options),
        protected_branches=settings.protected_branches,
        train=settings.fleet.train,
        keep_going=options.keep_going,
        allow_verify_exempt=options.allow_verify_exempt,
        allow_changed=options.allow_changed,
        allow_lost=options.allow_lost,
    )
