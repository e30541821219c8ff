"""An agent of a few lines of Python, which is started as any command that proposes."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

from factory.sandbox.policy import Backend
from shared.settings.settings import AgentSettings, FactorySettings, SandboxSettings
from tests.harness import Factory

_PRELUDE = '''\
import json, os, pathlib, subprocess, sys, time
import urllib.error, urllib.request

TASK = pathlib.Path(os.environ["LLMCH_TASK_FILE"]).read_text()

def call(text, **more):
    """Ask the model once; return what it says, or the status of an error."""
    body = json.dumps({"messages": [{"role": "user", "content": text}], **more}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as refused:
        return refused.code

def attempt(name, act):
    """Say whether something can be done."""
    try:
        act()
        print(name, "worked")
    except Exception as error:
        print(name, "refused", type(error).__name__)

def write(path, content):
    place = pathlib.Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)

'''


# An agent of the Agent Client Protocol, whose turn is made by `turn(text)`.
PROMPTED = '''
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)

def ask(method, **params):
    """Ask llmch, and return what it answers."""
    send(id=99, method=method, params={"sessionId": "s", **params})
    return read()

def say(text):
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    send(method="session/update", params={"sessionId": "s", "update": update})

def serve(turn, reason="end_turn", **answers):
    """Answer until the input ends."""
    while True:
        asked = read()
        result = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
        result = {**result, **answers}.get(asked["method"])
        if asked["method"] == "session/prompt":
            turn(asked["params"]["prompt"][0]["text"])
            result = {"stopReason": reason}
        send(id=asked["id"], result=result)

'''


def agents_of(
    factory: Factory, *bodies: str, prompted: bool = False, **bounds: Any
) -> dict[str, Any]:
    """Return the options of a run whose attempts are made by agents that run these bodies."""
    words: list[tuple[str, ...]] = []
    for number, body in enumerate(bodies, 1):
        script = factory.scratch / f"agent_{number}.py"
        script.write_text(_PRELUDE + PROMPTED * prompted + textwrap.dedent(body))
        argv = (sys.executable, str(script))
        words.append(("acp", *argv) if prompted else (*argv, "{task}"))
    settings = FactorySettings(proposers=tuple(words), agent=replace(AgentSettings(), **bounds))
    sandbox = SandboxSettings(backend=Backend.BWRAP)
    return {"factory": settings, "sandbox": sandbox, "patience_seconds": 0.0}


def account_of(summary: Any) -> str:
    """Return what the last attempt's failure says."""
    brief = summary.attempt_records[-1].failure_brief
    return str(brief.primary_error_excerpt) if brief else ""


def logged(factory: Factory, name: str = "agent.stdout.log", attempt: int = 1) -> str:
    """Return what an agent printed."""
    found: Path = next(factory.run_folder.rglob(f"attempt_{attempt}/{name}"))
    return found.read_text()
