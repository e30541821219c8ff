"""Makes `extract.json` out of the types in Anthropic's and Google's own Python SDKs.

    pip install anthropic==2.14.0 google-genai==3.6.1
    python extract.py > extract.json

The SDKs are made from the vendors' descriptions of their APIs. Of unions, the alternatives that
this project never meets (images, documents, tools that servers run) are left out; that makes the
schemas narrower, never wider. Both SDKs are under the Apache License 2.0, see `LICENSE` here.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Any

from pydantic import TypeAdapter

# The place of each type; the SDKs are no packages of this project.
ROOTS = {
    "anthropic.Message": "anthropic.types Message",
    "anthropic.Event": "anthropic.types RawMessageStreamEvent",
    "anthropic.Request": "anthropic.types.message_create_params MessageCreateParamsStreaming",
    "gemini.Response": "google.genai.types GenerateContentResponse",
    "gemini.Content": "google.genai.types Content",
    "gemini.Tool": "google.genai.types Tool",
    "gemini.GenerationConfig": "google.genai.types GenerationConfig",
}
# The alternatives of unions that are kept.
MET = frozenset(
    {
        *("CacheControlEphemeralParam", "InputJSONDelta", "JSONOutputFormatParam", "MessageParam"),
        *("OutputConfigParam", "RawContentBlockDeltaEvent", "RawContentBlockStartEvent"),
        *("RawContentBlockStopEvent", "RawMessageDeltaEvent", "RawMessageStartEvent"),
        *("RawMessageStopEvent", "RedactedThinkingBlock", "RedactedThinkingBlockParam"),
        *("SignatureDelta", "TextBlock", "TextBlockParam", "TextDelta", "ThinkingBlock"),
        *("ThinkingBlockParam", "ThinkingConfigAdaptiveParam", "ThinkingConfigDisabledParam"),
        *(
            "ThinkingConfigEnabledParam",
            "ThinkingDelta",
            "ToolChoiceAnyParam",
            "ToolChoiceAutoParam",
            "ToolChoiceNoneParam",
        ),
        *("ToolChoiceToolParam", "ToolParam", "ToolResultBlockParam", "ToolUseBlock"),
        *("ToolUseBlockParam", "Usage", "MessageDeltaUsage", "Delta", "CacheCreation"),
        *("OutputTokensDetails",),
    }
)
# Parts of Gemini's contents and tools that are neither sent nor read.
UNMET = frozenset(
    {
        *("audioTranscription", "codeExecution", "codeExecutionResult", "computerUse"),
        *("enterpriseWebSearch", "executableCode", "fileData", "fileSearch", "googleMaps"),
        *("googleSearch", "googleSearchRetrieval", "groundingMetadata", "inlineData", "mcpServers"),
        *("parallelAiSearch", "retrieval", "sdkHttpResponse", "speechConfig", "toolCall"),
        *("toolResponse", "urlContext", "urlContextMetadata", "videoMetadata", "logprobsResult"),
        *("citationMetadata", "modelSelectionConfig", "routingConfig", "modelStatus"),
    }
)
DOCUMENTATION = frozenset({"description", "title", "default", "discriminator", "examples"})


def pruned(node: Any, *, names: bool = False) -> Any:
    """Return the node without what is left out; `names` where keys are names of properties."""
    if isinstance(node, list):
        return [pruned(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if key in (UNMET if names else DOCUMENTATION):
            continue
        if key in ("anyOf", "oneOf") and not names:
            kept["anyOf"] = _met(value)
        elif key == "enum" and not names:
            # Google's servers take these words in any letter case.
            kept[key] = [*dict.fromkeys([*value, *(str(each).lower() for each in value)])]
        else:
            kept[key] = pruned(value, names=key in ("properties", "$defs") and not names)
    return kept


def _met(alternatives: list[Any]) -> list[Any]:
    kept = [each for each in alternatives if _target(each) in (None, *MET)]
    is_met = any(map(_target, kept))
    return [pruned(each) for each in (kept if is_met else alternatives)]


def _target(node: dict[str, Any]) -> str | None:
    return node["$ref"].rpartition("/")[2] if "$ref" in node else None


def reached(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the definitions alone that it leads to."""
    definitions = schema.pop("$defs", {})
    waiting, found = [schema], {}
    while waiting:
        text = json.dumps(waiting.pop())
        for name, definition in definitions.items():
            if name not in found and f'"#/$defs/{name}"' in text:
                found[name] = definition
                waiting.append(definition)
    return schema | {"$defs": dict(sorted(found.items()))}


def main() -> None:
    """Write the extract to standard output."""
    schemas = {}
    for name, place in ROOTS.items():
        module, _, kind = place.partition(" ")
        adapter: TypeAdapter[Any] = TypeAdapter(getattr(import_module(module), kind))
        schemas[name] = reached(pruned(adapter.json_schema(by_alias=True)))
    versions = {name: version(name) for name in ("anthropic", "google-genai")}
    sys.stdout.write(
        json.dumps({"versions": versions, "schemas": schemas}, separators=(",", ":")) + "\n"
    )


if __name__ == "__main__":
    main()
