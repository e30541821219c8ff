"""Turns a model's reply into a proposal, or says in words why it is none. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from factory.schemas import FileWrite, WriteProposal
from factory.scope import FileState
from shared.hashing import EMPTY_SHA256
from shared.llm.files_format import parse_files_reply, unwrap_fenced_content
from shared.llm.reply import ReplyMalformed, extract_json_object
from shared.llm.reply_format import ReplyFormat
from shared.strict_json import JsonProblem, parse_json

_PROBLEMS_SHOWN = 5
_FENCED_BY_NATURE = (".md", ".markdown")


class ProposalInvalid(Exception):
    """The reply is no proposal; the message is for the model's next attempt."""


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A proposal, and in words where the reply was read more leniently than it was asked for."""

    proposal: WriteProposal
    repairs: tuple[str, ...] = ()


def parse_proposal(
    reply: str,
    asked: ReplyFormat,
    shown: Mapping[str, FileState],
    allowed: Sequence[str],
) -> ParsedReply:
    """Return the proposal in `reply`; raise `ProposalInvalid` in words of the format asked for.

    `shown` is what the prompt told of each file: in the format `files`, where a model writes no
    hashes, it is what the proposal is based on.
    """
    if not reply.strip():
        raise ProposalInvalid("the reply is empty")
    try:
        return _read(asked, reply, shown, allowed)
    except ProposalInvalid as invalid:
        # A reply that is whole and clear in the other format is no reason to ask again.
        other = _OTHER[asked]
        try:
            parsed = _read(other, reply, shown, allowed)
        except ProposalInvalid:
            raise invalid from None
        repairs = (f"the reply came in the format {other}", *parsed.repairs)
        return ParsedReply(parsed.proposal, repairs)


_OTHER = {ReplyFormat.JSON: ReplyFormat.FILES, ReplyFormat.FILES: ReplyFormat.JSON}


def _read(
    reply_format: ReplyFormat, reply: str, shown: Mapping[str, FileState], allowed: Sequence[str]
) -> ParsedReply:
    match reply_format:
        case ReplyFormat.JSON:
            return _from_json(reply)
        case ReplyFormat.FILES:
            return _from_files(reply, shown, allowed)


def _from_json(reply: str) -> ParsedReply:
    try:
        document = parse_json(extract_json_object(reply))
    except (ReplyMalformed, JsonProblem) as problem:
        raise ProposalInvalid(str(problem)) from problem
    try:
        return _without_fences(WriteProposal.model_validate(document))
    except ValidationError as error:
        raise ProposalInvalid(_describe(error)) from error


def _from_files(reply: str, shown: Mapping[str, FileState], allowed: Sequence[str]) -> ParsedReply:
    try:
        parsed = parse_files_reply(reply, allowed)
    except ReplyMalformed as problem:
        raise ProposalInvalid(problem.reason) from problem
    writes = tuple(
        FileWrite(path=file.path, base_sha256=_shown_hash(file.path, shown), content=file.content)
        for file in parsed.files
    )
    return ParsedReply(WriteProposal(summary=parsed.summary, writes=writes), parsed.repairs)


def _shown_hash(path: str, shown: Mapping[str, FileState]) -> str:
    return shown[path].sha256 if path in shown else EMPTY_SHA256


def _without_fences(proposal: WriteProposal) -> ParsedReply:
    """Take off the fence that models put around a file's content inside a JSON string."""
    writes: list[FileWrite] = []
    repairs: list[str] = []
    for write in proposal.writes:
        content, wrapped = unwrap_fenced_content(write.content)
        if not wrapped or write.path.endswith(_FENCED_BY_NATURE):
            writes.append(write)
            continue
        writes.append(write.model_copy(update={"content": content}))
        repairs.append(f"a fence around the content of {write.path} was taken off")
    return ParsedReply(proposal.model_copy(update={"writes": tuple(writes)}), tuple(repairs))


def _describe(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(step) for step in problem['loc']) or 'reply'}: {problem['msg']}"
        for problem in problems[:_PROBLEMS_SHOWN]
    ]
    if len(problems) > _PROBLEMS_SHOWN:
        lines.append(f"and {len(problems) - _PROBLEMS_SHOWN} more")
    return "the JSON object is no proposal:\n" + "\n".join(lines)
