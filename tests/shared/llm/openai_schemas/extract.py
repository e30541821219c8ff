"""Makes `extract.json` out of OpenAI's published OpenAPI description (repository openai-openapi).

    python extract.py openapi.json COMMIT > extract.json

What stays is verbatim but for documentation keys. Of unions, the alternatives that this project
never meets (tools, audio, images, files) are left out; that makes the schemas narrower, never
wider. The description is under the MIT licence, see `LICENSE` here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOTS = (
    "CreateChatCompletionRequest",
    "CreateChatCompletionResponse",
    "CreateChatCompletionStreamResponse",
    "CreateResponse",
    "ErrorResponse",
    "Response",
    "ResponseStreamEvent",
)
# The alternatives of unions that are kept.
MET = frozenset(
    {
        "ChatCompletionRequestMessageContentPartText",
        "ChatCompletionRequestUserMessage",
        "CreateModelResponseProperties",
        "EasyInputMessage",
        "FunctionTool",
        "InputItem",
        "InputMessage",
        "InputTextContent",
        "ModelIdsResponses",
        "ModelIdsShared",
        "OutputMessage",
        "OutputMessageContent",
        "OutputTextContent",
        "Reasoning",
        "ReasoningEffort",
        "ReasoningItem",
        "ReasoningTextContent",
        "RefusalContent",
        "ResponseCompletedEvent",
        "ResponseContentPartAddedEvent",
        "ResponseContentPartDoneEvent",
        "ResponseCreatedEvent",
        "ResponseErrorEvent",
        "ResponseFailedEvent",
        "ResponseFormatJsonObject",
        "ResponseFormatJsonSchema",
        "ResponseFormatText",
        "ResponseInProgressEvent",
        "ResponseIncompleteEvent",
        "ResponseOutputItemAddedEvent",
        "ResponseOutputItemDoneEvent",
        "ResponseQueuedEvent",
        "ResponseReasoningSummaryTextDeltaEvent",
        "ResponseReasoningSummaryTextDoneEvent",
        "ResponseRefusalDeltaEvent",
        "ResponseRefusalDoneEvent",
        "ResponseTextDeltaEvent",
        "ResponseTextDoneEvent",
        "SummaryTextContent",
        "TextResponseFormatConfiguration",
        "TextResponseFormatJsonSchema",
    }
)
# Optional properties that lead to what is never met.
LEFT_OUT = frozenset(
    {
        "access_programs",
        "annotations",
        "audio",
        "code_interpreter",
        "context_management",
        "conversation",
        "function_call",
        "functions",
        "logprobs",
        "moderation",
        "prediction",
        "prompt",
        "tool_calls",
        "tool_choice",
        "tools",
        "top_logprobs",
        "web_search_options",
    }
)
DOCUMENTATION = frozenset(
    {"description", "x-oaiMeta", "example", "examples", "title", "deprecated", "x-stainless-const"}
)


def pruned(node: Any, *, names: bool = False) -> Any:
    """Return the node without what is left out; `names` where keys are property names."""
    if isinstance(node, list):
        return [pruned(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if (key in LEFT_OUT) if names else (key in DOCUMENTATION or key.startswith("x-")):
            continue
        if key in ("anyOf", "oneOf") and not names:
            kept[key] = _met(value)
        elif key == "required" and isinstance(value, list):
            kept[key] = [name for name in value if name not in LEFT_OUT]
        else:
            kept[key] = pruned(value, names=key == "properties" and not names)
    if "discriminator" in kept and not names:
        del kept["discriminator"]
    return kept


def _met(alternatives: list[Any]) -> list[Any]:
    kept = [each for each in alternatives if _target(each) in (None, *MET)]
    return [pruned(each) for each in kept or alternatives]


def _target(node: dict[str, Any]) -> str | None:
    return node["$ref"].rpartition("/")[2] if "$ref" in node else None


def references(node: Any) -> Iterator[str]:
    """Yield the names of all schemas that `node` refers to."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield _target(node) or ""
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def main() -> None:
    """Write the extract to standard output."""
    source = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    schemas = source["components"]["schemas"]
    found: dict[str, Any] = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = pruned(schemas[name])
            waiting += references(found[name])
    document = {
        "$comment": f"Extract of {source['info']['title']} {source['info']['version']}, repository "
        f"openai/openai-openapi at commit {sys.argv[2]}, MIT licence; made by extract.py.",
        "components": {"schemas": dict(sorted(found.items()))},
    }
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
