"""Defines what `run.json` says of how a run's commands were run, so that they can be run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from factory.orders.options import RunOptions
from shared.settings.sandbox import SandboxBackend, SandboxNet, SandboxSettings


class CommandSettings(BaseModel):
    """Hold the choices that decide how commands run: interpreter, sandbox, time, folders."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    python: Path
    install_dependencies: bool
    allow_repo_filters: bool
    timeout_seconds: float
    link: tuple[str, ...] | Literal["auto"]
    backend: SandboxBackend
    net: SandboxNet
    read: tuple[Path, ...]
    write: tuple[Path, ...]
    env: tuple[str, ...]
    path: tuple[Path, ...] = ()

    def applied_to(self, options: RunOptions) -> RunOptions:
        """Return `options` with these choices."""
        sandbox = SandboxSettings(
            backend=self.backend,
            net=self.net,
            read=self.read,
            write=self.write,
            path=self.path,
            env=self.env,
        )
        settings = replace(
            options.settings, timeout_seconds=self.timeout_seconds, link=self.link, sandbox=sandbox
        )
        return replace(
            options,
            settings=settings,
            python=self.python,
            install_dependencies=self.install_dependencies,
            allow_repo_filters=self.allow_repo_filters,
        )


def command_settings(options: RunOptions) -> CommandSettings:
    """Return how the commands of a run with these options are run."""
    settings, sandbox = options.settings, options.settings.sandbox
    return CommandSettings(
        python=options.python,
        install_dependencies=options.install_dependencies,
        allow_repo_filters=options.allow_repo_filters,
        timeout_seconds=settings.timeout_seconds,
        link=settings.link,
        backend=sandbox.backend,
        net=sandbox.net,
        read=sandbox.read,
        write=sandbox.write,
        env=sandbox.env,
        path=sandbox.path,
    )
