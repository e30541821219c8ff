"""A server that speaks the agents' wires, and has each agent do the same steps by its own tools.

A step is a shell command. Which one comes next follows from the call alone: from how many results
of tools it holds. So a call that is made again is answered again in the same way.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

_SHELLS = ("bash", "shell", "shell_command", "exec_command", "run_shell_command")
_REPLY_TOKENS = 50


@dataclass
class WireServer:
    """Answers calls of any wire; `calls` holds their paths and bodies. `text` ends the agent.

    An agent that sends no tools gets its steps in blocks of the language `fence`, if that is named.
    """

    steps: Sequence[str]
    text: str
    calls: list[tuple[str, Json]] = field(default_factory=list)
    url: str = ""
    fence: str = ""

    def answer(self, path: str, body: Json) -> tuple[str, str]:
        """Return the media type and the text of the reply to a call."""
        self.calls.append((path, body))
        done = json.dumps(body).count('"tool_call_id"')
        if "/responses" in path:
            kinds = [each.get("type", "") for each in body["input"] if isinstance(each, dict)]
            done = sum(each.endswith("_output") for each in kinds)
            documents = self._responses(self._next(done), body, done)
        elif "models/" in path:
            parts = [each for content in body["contents"] for each in content.get("parts", [])]
            done = sum("functionResponse" in each for each in parts)
            documents = [self._gemini(self._next(done), body)]
            return _sent(documents, is_stream="stream" in path)
        else:
            if self.fence and "tools" not in body:
                done = sum(each["role"] == "assistant" for each in body["messages"])
            stream = body.get("stream") is True
            documents = self._chat(self._next(done), body, done, stream)
            return _sent(documents, is_stream=stream, end=stream)
        return _sent(documents, is_stream=body.get("stream") is True)

    def _next(self, done: int) -> str | None:
        return self.steps[done] if done < len(self.steps) else None

    def _chat(self, step: str | None, body: Json, done: int, stream: bool) -> list[Json]:
        tools = [each["function"] for each in body.get("tools", [])]
        said: Json = {"role": "assistant", "content": self.text}
        if step is not None and tools:
            name, arguments = _call(tools, "parameters", step)
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": 0, "id": f"call_{done}", "type": "function", "function": function}
            said = {"role": "assistant", "content": None, "tool_calls": [call]}
        elif step is not None and self.fence:
            said["content"] = f"THOUGHT: next.\n\n```{self.fence}\n{step}\n```"
        reason = "tool_calls" if "tool_calls" in said else "stop"
        part = "delta" if stream else "message"
        choice = {"index": 0, part: said, "finish_reason": reason}
        kind = "chat.completion.chunk" if stream else "chat.completion"
        prompt, reply = _tokens(body)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": reply,
            "total_tokens": prompt + reply,
        }
        head = {"id": f"chat-{done}", "object": kind, "created": 1, "model": body["model"]}
        if not stream:
            return [head | {"choices": [choice], "usage": usage}]
        return [head | {"choices": [choice]}, head | {"choices": [], "usage": usage}]

    def _responses(self, step: str | None, body: Json, done: int) -> list[Json]:
        content = [{"type": "output_text", "text": self.text, "annotations": []}]
        item: Json = {"type": "message", "id": f"m{done}", "role": "assistant", "content": content}
        if step is not None:
            name, arguments = _call(body["tools"], "parameters", step)
            item = {"type": "function_call", "id": f"f{done}", "call_id": f"call_{done}"}
            item |= {"name": name, "arguments": json.dumps(arguments)}
        item["status"] = "completed"
        given, said = _tokens(body)
        usage: Json = {"input_tokens": given, "output_tokens": said, "total_tokens": given + said}
        usage["input_tokens_details"] = {"cached_tokens": 0}
        usage["output_tokens_details"] = {"reasoning_tokens": 0}
        response = {"id": f"r{done}", "object": "response", "model": body["model"]}
        whole = response | {"status": "completed", "output": [item], "usage": usage}
        if body.get("stream") is not True:
            return [whole]
        return [
            {"type": "response.created", "response": response | {"status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]

    def _gemini(self, step: str | None, body: Json) -> Json:
        part: Json = {"text": self.text}
        groups = (each.get("functionDeclarations", ()) for each in body.get("tools", ()))
        tools = [tool for group in groups for tool in group]
        if step is not None and tools:
            name, arguments = _call(tools, "parametersJsonSchema", step)
            part = {"functionCall": {"name": name, "args": arguments}}
        content = {"role": "model", "parts": [part]}
        given, said = _tokens(body)
        usage = {"promptTokenCount": given, "candidatesTokenCount": said}
        usage["totalTokenCount"] = given + said
        candidate = {"index": 0, "content": content, "finishReason": "STOP"}
        return {"candidates": [candidate], "usageMetadata": usage}


def _tokens(body: Json) -> tuple[int, int]:
    """Return how many tokens a call and its reply have, by the usual four characters to one."""
    return len(json.dumps(body)) // 4, _REPLY_TOKENS


def _call(tools: Sequence[Json], schema: str, step: str) -> tuple[str, Json]:
    """Return the call of an agent's own shell that runs a step."""
    tool = next(each for name in _SHELLS for each in tools if each.get("name") == name)
    parameters = tool.get(schema) or tool.get("parameters") or {}
    properties: Mapping[str, Json] = parameters.get("properties", {})
    arguments: Json = {"description": "a step"} if "description" in properties else {}
    name = "cmd" if "cmd" in properties else "command"
    is_list = properties.get(name, {}).get("type") == "array"
    return tool["name"], arguments | {name: ["sh", "-c", step] if is_list else step}


def _sent(documents: Sequence[Json], *, is_stream: bool, end: bool = False) -> tuple[str, str]:
    if not is_stream:
        return "application/json", json.dumps(documents[0])
    events = [
        (f"event: {each['type']}\n" if "type" in each else "") + f"data: {json.dumps(each)}\n\n"
        for each in documents
    ]
    return "text/event-stream", "".join(events) + "data: [DONE]\n\n" * end


@contextmanager
def wire_server(steps: Sequence[str], text: str = "All is done.") -> Iterator[WireServer]:
    """Run a server that has an agent do `steps` and then end with `text`."""
    wires = WireServer(steps, text)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            media_type, text = wires.answer(self.path, body)
            self.send_response(200)
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(text.encode())))
            with contextlib.suppress(OSError):  # who asked may have been killed
                self.end_headers()
                self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    wires.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield wires
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
