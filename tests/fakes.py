"""A model that answers from a script, at the protocol: nothing of our own code is replaced."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping

from shared.llm.model_client import Completion, Request, ToolCall, Usage

Reply = str | Exception | Callable[[Request], str] | ToolCall


class ScriptedModel:
    """Answers the n-th call for an order (or for the plan) with the n-th reply of its list."""

    def __init__(self, replies: Mapping[str, list[Reply]]) -> None:
        self._replies = {place: list(each) for place, each in replies.items()}
        self._lock = threading.Lock()
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Completion:
        with self._lock:
            self.requests.append(request)
            place = request.place.order or str(request.place.role)
            assert self._replies.get(place), f"the script has no further reply for {place}"
            reply = self._replies[place].pop(0)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, ToolCall):
            usage = Usage(calls=1, input_tokens=100, output_tokens=10)
            return Completion(text="", model=request.model, usage=usage, calls=(reply,))
        text = reply if isinstance(reply, str) else reply(request)
        usage = Usage(calls=1, input_tokens=100, output_tokens=10)
        document = chat_reply(text) if request.relayed else ""
        return Completion(text=text, model=request.model, usage=usage, document=document)


def chat_reply(text: str) -> str:
    """Return what a server of Chat Completions sends where a model says `text`."""
    message = {"role": "assistant", "content": text}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def called(name: str, **given: object) -> ToolCall:
    """Return a model's call of a tool."""
    return ToolCall("call_1", name, json.dumps(given))


def proposal(files: Mapping[str, str], **hashes: str) -> Callable[[Request], str]:
    """Return a reply that writes `files`, its base hashes read off the prompt as a model would.

    `hashes` overrides them, by path with every non-letter written as an underscore.
    """

    def reply(request: Request) -> str:
        shown = dict(re.findall(r"^## (\S+).*\nbase_sha256: (\w+)", request.prompt, re.MULTILINE))
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        writes = [
            {
                "path": path,
                "base_sha256": hashes.get(re.sub(r"\W", "_", path), shown.get(path, empty)),
                "content": content,
            }
            for path, content in files.items()
        ]
        return json.dumps({"summary": "as scripted", "writes": writes})

    return reply


def refused(number: int = 1) -> Callable[[Request], str]:
    """Return a reply that may not be written; each number gives another one."""
    return proposal({f"elsewhere-{number}.txt": "x\n"})
