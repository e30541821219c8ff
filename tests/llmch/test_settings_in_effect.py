"""Every setting changes what the program does: a request, a workspace, a sandbox, a finding."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from factory.sandbox.detect import find_backends
from shared.settings.settings import KEYS
from tests.harness import commit_all, git, order
from tests.llmch.command_line import Said, Say, model_server, plan_reply, write_reply
from tests.planner import plans
from tests.shared.llm.scripted_server import Act, ScriptedServer, scripted_server

PLAN = plans.plan(plans.creating(1, "greet.py"), plans.creating(2, "tests/test_greet.py"))
UNMET = plans.plan(plans.creating(1, "greet.py", preconditions=plans.exists("missing.py")))
REVIEW = plan_reply({"findings": []})
HELLO = {"hello.txt": "hello\n"}
# Fails at once where it is tried before anything is written, so that only one attempt waits.
SLOW = "sh -c 'test -f hello.txt && sleep 1.1'"
CALC = {"calc.py": "def add(a: int, b: int) -> int:\n    return a + b\n"}

contained = pytest.mark.skipif(
    all(each.problem for each in find_backends()), reason="no sandbox works on this machine"
)


Known: TypeAlias = dict[str, tuple[Said, list[dict[str, Any]]]]


@dataclass
class World:
    """A repo, a spec and a model's server, on which commands are run."""

    say: Say
    repo: Path
    scratch: Path
    monkeypatch: pytest.MonkeyPatch
    other: ScriptedServer
    sandbox: str = "off"
    received: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """The key that came with each request."""
    known: Known | None = None
    """The outcomes of earlier commands, where no setting is in force that could change them."""

    def plan(self, *acts: Act) -> Said:
        """Plan a spec; the requests are in `received`."""
        return self._plan(acts) if acts else self._once("plan", lambda: self._plan(()))

    def run(self, *commands: str, acts: tuple[Act, ...] = (), **fields: Any) -> Said:
        """Run an order with these acceptance commands; the requests are in `received`."""
        if commands or acts or fields or self.sandbox != "off":
            return self._run(commands, acts, fields)
        return self._once("run", lambda: self._run((), (), {}))

    def _once(self, name: str, do: Callable[[], Said]) -> Said:
        if self.known is None:
            return do()
        if name not in self.known:
            self.known[name] = do(), self.received
        said, self.received = self.known[name]
        return said

    def _plan(self, acts: tuple[Act, ...]) -> Said:
        (spec := self.scratch / "spec.md").write_text("# Greeter\n\nSay hello.\n")
        with model_server(self.monkeypatch, *(acts or (plan_reply(PLAN), REVIEW))) as server:
            said = self.say("plan", "--spec", spec, "--review", "--json")
        self._keep(server)
        return said

    def _run(
        self, commands: tuple[str, ...], acts: tuple[Act, ...], fields: dict[str, Any]
    ) -> Said:
        if commands:
            fields["acceptance_commands"] = list(commands)
        (file := self.scratch / "WO-01.json").write_text(json.dumps(order(**fields)))
        sandbox = ("--sandbox", self.sandbox) if self.sandbox else ()
        with model_server(self.monkeypatch, *(acts or (write_reply(HELLO),))) as server:
            said = self.say(
                "run", "--repo", self.repo, "--work-order", file, "--branch", "work",
                "--reply-format", "json", "--json", *sandbox,
            )  # fmt: skip
        self._keep(server)
        return said

    def _keep(self, server: ScriptedServer) -> None:
        self.received = server.bodies
        self.keys = [each.headers["authorization"] for each in server.received]

    def passes(self, *commands: str) -> bool:
        """Run an order with these commands, and say whether it passed."""
        self.monkeypatch.setenv("LLMCH_FACTORY_ATTEMPTS", "1")
        return bool(self.run(*commands).document["verdict"] == "PASS")

    def accepted_by(self) -> dict[str, Any]:
        """Run an order, and return what its record says of the sandbox."""
        folder = Path(self.run().document["run_dir"])
        (record,) = folder.rglob("attempt_1/acceptance_result.json")
        found: dict[str, Any] = json.loads(record.read_text())[0]["sandbox"]
        return found

    def codes(self, command: str) -> set[str]:
        """Check a plan with this command, and return the codes of the findings."""
        document = {"work_orders": [plans.order(acceptance_commands=[command])]}
        folder = self.scratch / "plan"
        folder.mkdir()
        (folder / "WO-01.json").write_text(json.dumps(document["work_orders"][0]))
        found = self.say("check", folder, "--json").document["findings"]
        return {each["code"] for each in found}


@pytest.fixture(scope="module")
def known() -> Known:
    """The outcomes of the commands that every default is seen in: each is run once."""
    return {}


@pytest.fixture
def world(say: Say, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with scripted_server(plan_reply(PLAN), REVIEW) as other:
        yield World(say, repo, tmp_path, monkeypatch, other)


@dataclass(frozen=True)
class Case:
    """What is seen without the setting, and with it at `value`; `{...}` are the world's places."""

    value: str
    observe: Callable[[World], object]
    without: object
    with_it: object
    marks: tuple[pytest.MarkDecorator, ...] = ()


def asked(number: int, *keys: str) -> Callable[[World], object]:
    """Observe a part of the request of a plan: 0 is the planner's, 1 the reviewer's."""

    def observe(world: World) -> object:
        assert world.plan().code == 0
        found: Any = world.received[number]
        for key in keys:
            found = found[key]
        return found

    return observe


def asked_by_factory(key: str) -> Callable[[World], object]:
    def observe(world: World) -> object:
        assert world.run().code == 0
        return world.received[0].get(key)

    return observe


def offers_tools(world: World) -> object:
    assert world.run().code == 0
    return "tools" in world.received[0]


def offers_tools_where_they_are_wanted(world: World) -> object:
    world.monkeypatch.setenv("LLMCH_FACTORY_PROPOSER", "tools")
    assert world.run(acts=(write_reply(HELLO),)).code == 0
    return "tools" in world.received[0]


def shows_files(world: World) -> object:
    """Observe whether the planner's prompt has a listing of the repository."""
    (spec := world.scratch / "spec.md").write_text("# Greeter\n\nSay hello.\n")
    with model_server(world.monkeypatch, plan_reply(PLAN), REVIEW) as server:
        world.say("plan", "--spec", spec, "--repo", world.repo, "--json")
    return "tracked file" in json.dumps(server.bodies[0])


def looked(world: World) -> object:
    """Observe whether the planner's model is shown what it asks to see of the repository."""
    commit_all(world.repo, CALC)
    (spec := world.scratch / "spec.md").write_text("# Greeter\n\nSay hello.\n")
    look = plan_reply({"look": ["calc.py"]})
    with model_server(world.monkeypatch, look, *[plan_reply(PLAN)] * 2) as server:
        world.say("plan", "--spec", spec, "--repo", world.repo, "--no-review", "--json")
    return "`calc.py`, lines 1 to 2" in json.dumps(server.bodies[1])


def planner_elsewhere(world: World) -> object:
    """Observe how many requests each of two servers gets."""
    world.plan(plan_reply(PLAN), REVIEW)
    return len(world.received), len(world.other.received)


def factory_elsewhere(world: World) -> object:
    world.run(acts=(write_reply(HELLO), write_reply(HELLO)))
    return len(world.received), bool(world.other.received)


def asks_anthropic(of: str) -> Callable[[World], object]:
    """Observe whether a role asks by Anthropic Messages; the server's reply is of no use then."""

    def observe(world: World) -> object:
        world.monkeypatch.setenv("ANTHROPIC_BASE_URL", world.other.base_url)
        if of == "factory":
            world.run()
        else:
            world.plan(plan_reply(PLAN), REVIEW)
        return "/v1/messages" in [each.path for each in world.other.received]

    return observe


def keyed(of: str) -> Callable[[World], object]:
    """Observe the keys that come with the requests of a plan, or of an order."""

    def observe(world: World) -> object:
        world.monkeypatch.setenv("THEIR_API_KEY", "k-2")
        for role in ("PLANNER", "REVIEWER", "FACTORY"):
            world.monkeypatch.setenv(f"LLMCH_{role}_PROVIDER", "openai")
        acts = (write_reply(HELLO),) if of == "factory" else (plan_reply(PLAN), REVIEW)
        said = world.run(acts=acts) if of == "factory" else world.plan(*acts)
        assert said.code == 0
        return " ".join(world.keys).replace("Bearer ", "")

    return observe


def plan_replies(world: World) -> object:
    world.plan(plan_reply(UNMET), plan_reply(PLAN), REVIEW)
    return len(world.received)


def order_attempts(world: World) -> object:
    said = world.run(acts=(write_reply({"other.txt": "no\n"}), write_reply(HELLO)))
    return said.document["attempts"]


def own_python(world: World) -> object:
    place = world.scratch / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    return world.passes("python -c \"import sys; assert sys.prefix.endswith('own')\"")


def records_under(world: World) -> object:
    return Path(world.run().document["run_dir"]).is_relative_to(world.scratch / "records")


def reads(world: World) -> object:
    (folder := world.scratch / "outside").mkdir()
    (folder / "data").write_text("1\n")
    world.sandbox = "auto"
    return world.passes(f"cat {folder}/data")


def writes(world: World) -> object:
    (folder := world.scratch / "outside").mkdir()
    world.sandbox = "auto"
    world.passes(f"touch {folder}/made")
    return (folder / "made").exists()


def finds_program(world: World) -> object:
    (folder := world.scratch / "outside").mkdir()
    (folder / "greet").write_text("#!/bin/sh\n")
    (folder / "greet").chmod(0o755)
    world.sandbox = "auto"
    return world.passes("greet")


def sees_colour(world: World) -> object:
    world.monkeypatch.setenv("MY_COLOUR", "blue")
    return world.passes("sh -c 'test \"$MY_COLOUR\" = blue'")


def backend(world: World) -> object:
    world.sandbox = ""
    return world.accepted_by()["backend"] == "off"


def network(world: World) -> object:
    world.sandbox = "auto"
    return world.accepted_by()["guarantees"]["network"]


def formatted(world: World) -> object:
    commit_all(world.repo, {"pyproject.toml": "[tool.ruff.format]\n"})
    world.monkeypatch.delenv("VIRTUAL_ENV")  # it has no ruff
    said = world.run("python -c 'import calc'", acts=(write_reply({"calc.py": "x=1\n"}),),
                     allowed_files=["calc.py"])  # fmt: skip
    assert said.code == 0, said
    return git(world.repo, "show", "work:calc.py")


def hollow(world: World) -> object:
    interfaces = [{"path": "calc.py", "stub": "def add(a: int, b: int) -> int: ...\n"}]
    said = world.run(
        "python -c 'import calc'",
        acts=(write_reply(CALC),),
        allowed_files=["calc.py"],
        interfaces=interfaces,
    )
    return said.document["verdict"]


def strength_of(fact: str, least: str = "") -> Callable[[World], object]:
    """Observe a fact on the strength of the tests; `None` where nobody measured it."""

    def observe(world: World) -> object:
        if least:
            world.monkeypatch.setenv("LLMCH_STRENGTH_MIN", least)
        said = world.run(
            "python -c 'from calc import add; assert [add(2, 3), add(0, 9)] == [5, 0]'",
            acts=(write_reply({"calc.py": CALC_WITH_FAULTS}),),
            allowed_files=["calc.py"],
        )
        assert said.code == 0, said
        strength = said.document["verified_by"].get("strength")
        return strength and strength[fact]

    return observe


CALC_WITH_FAULTS = "def add(a, b):\n    if a < 1:\n        return 0\n    return a + b\n"


def linked(world: World) -> object:
    commit_all(world.repo, {".gitignore": ".venv/\n"})
    (world.repo / ".venv").mkdir()
    (world.repo / ".venv/data").write_text("1\n")
    return world.passes("test -f .venv/data")


def cost(world: World) -> object:
    return world.run().document["usage"]["cost_usd"] == 0


def commit_said(form: str) -> Callable[[World], object]:
    """Observe a commit, as `git log` shows it in this form."""

    def observe(world: World) -> object:
        commit = world.run("test -f hello.txt").document["commit"]
        return git(world.repo, "log", "-1", f"--format={form}", commit)

    return observe


def room(world: World) -> object:
    """Observe the room for a reply under a cap."""
    world.monkeypatch.setenv("LLMCH_MAX_TOKENS", "1000000")
    return asked_by_factory("max_tokens")(world) == 32_000


CASES = {
    "model": Case("big", asked_by_factory("model"), "gpt-5.2", "big"),
    "reasoning_effort": Case("low", asked(0, "reasoning", "effort"), "medium", "low"),
    "planner.key_variable": Case(
        "THEIR_API_KEY", keyed("planner"), "sk-test sk-test", "k-2 sk-test"
    ),
    "reviewer.key_variable": Case(
        "THEIR_API_KEY", keyed("planner"), "sk-test sk-test", "sk-test k-2"
    ),
    "factory.key_variable": Case("THEIR_API_KEY", keyed("factory"), "sk-test", "k-2"),
    "planner.model": Case("big", asked(0, "model"), "gpt-5.2-codex", "big"),
    "planner.base_url": Case("{other}", planner_elsewhere, (2, 0), (0, 2)),
    "planner.reasoning_effort": Case("high", asked(0, "reasoning", "effort"), "medium", "high"),
    "planner.max_output_tokens": Case("1234", asked(0, "max_output_tokens"), 64_000, 1234),
    "planner.temperature": Case("0.5", asked(0, "temperature"), 0, 0.5),
    "planner.hints_tokens": Case("0", shows_files, True, False),
    "planner.look_rounds": Case("0", looked, True, False),
    "planner.look_tokens": Case("0", looked, True, False),
    "planner.attempts": Case("1", plan_replies, 3, 1),
    "planner.provider": Case("anthropic", asks_anthropic("planner"), False, True),
    "reviewer.model": Case("big", asked(1, "model"), "gpt-5.2-codex", "big"),
    "reviewer.base_url": Case("{other}", planner_elsewhere, (2, 0), (1, 1)),
    "reviewer.reasoning_effort": Case("high", asked(1, "reasoning", "effort"), "medium", "high"),
    "reviewer.max_output_tokens": Case("1234", asked(1, "max_output_tokens"), 64_000, 1234),
    "reviewer.temperature": Case("0.5", asked(1, "temperature"), 0, 0.5),
    "reviewer.provider": Case("anthropic", asks_anthropic("reviewer"), False, True),
    "factory.model": Case("big", asked_by_factory("model"), "gpt-5.2", "big"),
    "factory.base_url": Case("{other}", factory_elsewhere, (1, False), (0, True)),
    "factory.provider": Case("anthropic", asks_anthropic("factory"), False, True),
    "factory.reasoning_effort": Case("high", asked_by_factory("reasoning_effort"), None, "high"),
    "factory.max_output_tokens": Case("1234", asked_by_factory("max_tokens"), 32_000, 1234),
    "factory.temperature": Case("0.5", asked_by_factory("temperature"), 0, 0.5),
    "factory.attempts": Case("1", order_attempts, 2, 1),
    "factory.proposer": Case("tools", offers_tools, False, True),
    "factory.ladder": Case("tools,model", offers_tools, False, True),
    "factory.agent.calls": Case("1", offers_tools_where_they_are_wanted, True, False),
    "timeout_seconds": Case("1", lambda world: world.passes(SLOW), True, False),
    "max_cost": Case("0", lambda world: world.run().code, 0, 7),
    "max_tokens": Case("1", lambda world: world.run().code, 0, 7),
    "prices": Case('[prices."gpt-5.2"]\ninput = 0\noutput = 0', cost, False, True),
    "windows": Case('[windows]\n"gpt-5.2" = 20000', room, True, False),
    "python": Case("{scratch}/own/bin/python", own_python, False, True),
    "artifacts_dir": Case("{scratch}/records", records_under, False, True),
    "sandbox.backend": Case("off", backend, False, True, (contained,)),
    "sandbox.net": Case("host", network, True, False, (contained,)),
    "sandbox.read": Case("{scratch}/outside", reads, False, True, (contained,)),
    "sandbox.write": Case("{scratch}/outside", writes, False, True, (contained,)),
    "sandbox.path": Case("{scratch}/outside", finds_program, False, True, (contained,)),
    "sandbox.env": Case("MY_COLOUR", sees_colour, False, True),
    "commit.author": Case(
        "Grace <grace@example.org>",
        commit_said("%an %ae %cn"),
        "llmch llmch@localhost llmch",
        "Grace grace@example.org Grace",
    ),
    "commit.subject": Case("conventional", commit_said("%s"), "say hello", "feat: say hello"),
    "protected_branches": Case("work", lambda world: world.run().code, 0, 5),
    "strict_acceptance": Case("true", hollow, "PASS", "FAIL"),
    "strength.min": Case("0.5", strength_of("of"), None, 6),
    "strength.mutants": Case("3", strength_of("of", least="0.1"), 6, 3),
    "strength.seed": Case("5", strength_of("seed", least="0.1"), 0, 5),
    "factory.format": Case("off", formatted, "x = 1", "x=1"),
    "link": Case("none", linked, True, False),
    "verify": Case("test -f missing", lambda world: world.run().code, 0, 5),
    "programs": Case("curl", lambda world: "E240" in world.codes("curl x"), True, False),
    "dependencies": Case(
        "frobnicate",
        lambda world: "W101" in world.codes("python -c 'import frobnicate'"),
        True,
        False,
    ),
}


# These take effect with a database and workers: see tests/factory/fleet.
IN_A_FLEET = {"fleet.db", "fleet.remote", "fleet.lease_seconds", "fleet.train"}
# These take effect where an agent works for long: see tests/factory/agents.
OF_AN_AGENT = {"factory.agent.minutes", "factory.agent.tokens"}
# These take effect where an event is dealt with: see tests/attacks/test_issues.py.
OF_AN_EVENT = {"issue.allowed", "issue.label", "issue.max_tokens"}


def test_every_setting_has_a_case() -> None:
    assert CASES.keys() | IN_A_FLEET | OF_AN_AGENT | OF_AN_EVENT == KEYS.keys()


PARAMETERS = [pytest.param(name, id=name, marks=case.marks) for name, case in CASES.items()]


@pytest.mark.rest
@pytest.mark.parametrize("name", PARAMETERS)
def test_without_the_setting_its_default_holds(world: World, known: Known, name: str) -> None:
    world.known = known
    assert CASES[name].observe(world) == CASES[name].without


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_setting_changes_what_is_done(world: World, name: str) -> None:
    case = CASES[name]
    value = case.value.replace("{other}", world.other.base_url)
    value = value.replace("{scratch}", str(world.scratch))
    if name in ("prices", "windows"):  # these are set in files alone
        (file := world.scratch / "models.toml").write_text(value)
        world.monkeypatch.setenv("LLMCH_CONFIG", str(file))
    else:
        world.monkeypatch.setenv(KEYS[name].variable, value)
    assert case.observe(world) == case.with_it
