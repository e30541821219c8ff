"""A command that connects out in the real sandbox: the environment's fault, not the model's."""

from __future__ import annotations

import shlex

import pytest

from factory.orders.documents import RunSummary
from factory.orders.stages import Stage
from factory.sandbox.detect import find_backends
from factory.sandbox.policy import Backend
from shared.settings.settings import SandboxNet, SandboxSettings
from tests.fakes import proposal
from tests.harness import Factory, order, stages

GOOD = proposal({"hello.txt": "hello\n"})

# The address is one of those that no machine has (RFC 5737), so nothing is reached in any case.
CONNECTING = {
    "urllib by name": "import urllib.request as u; u.urlopen('http://example.org')",
    "urllib by address": "import urllib.request as u; u.urlopen('http://192.0.2.1')",
    "socket by name": "import socket; socket.create_connection(('example.org', 80))",
    "socket by address": "import socket; socket.create_connection(('192.0.2.1', 80))",
}
FAILING = {
    "an assertion": "assert 1 == 2",
    "a file that may not be written": "open('/usr/hello', 'w')",
    "an error of its own": "raise PermissionError(13, 'Permission denied')",
}


@pytest.fixture(params=[Backend.BWRAP, Backend.LANDLOCK])
def settings(request: pytest.FixtureRequest) -> SandboxSettings:
    """Settings with a backend that works here; one that does not is skipped by name."""
    found = next(each for each in find_backends() if each.backend is request.param)
    if found.problem:
        pytest.skip(f"{found.backend}: {found.problem}")
    return SandboxSettings(backend=found.backend)


def run(factory: Factory, code: str, settings: SandboxSettings) -> RunSummary:
    document = order(acceptance_commands=[f"python -c {shlex.quote(code)}"])
    return factory.run(document, [GOOD], sandbox=settings, max_attempts=1)


@pytest.mark.rest
@pytest.mark.parametrize("name", CONNECTING)
def test_a_command_that_connects_out_is_the_environments_fault(
    factory: Factory, settings: SandboxSettings, name: str
) -> None:
    summary = run(factory, CONNECTING[name], settings)
    assert stages(summary) == [Stage.ENVIRONMENT]
    assert summary.failure is not None
    assert "pass --sandbox-net host" in summary.failure.remedy


@pytest.mark.parametrize("name", FAILING)
def test_a_command_without_the_network_is_the_models_fault(
    factory: Factory, settings: SandboxSettings, name: str
) -> None:
    assert stages(run(factory, FAILING[name], settings)) == [Stage.ACCEPTANCE_FAILED]


@pytest.mark.rest
def test_with_the_hosts_network_the_sandbox_is_not_to_blame(
    factory: Factory, settings: SandboxSettings
) -> None:
    code = "import sys; sys.exit('Network is unreachable')"
    host = SandboxSettings(backend=settings.backend, net=SandboxNet.HOST)
    assert stages(run(factory, code, host)) == [Stage.ACCEPTANCE_FAILED]
    assert stages(run(factory, code, settings)) == [Stage.ENVIRONMENT]


def test_code_of_the_model_that_connects_is_its_own_fault(
    factory: Factory, settings: SandboxSettings
) -> None:
    code = "import socket\n\nsocket.create_connection(('192.0.2.1', 80))\n"
    document = order(allowed_files=["app.py"], acceptance_commands=["python app.py"])
    reply = proposal({"app.py": code})
    summary = factory.run(document, [reply], sandbox=settings, max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
