"""Turns a model's reply into a proposal, or says in words why it is none."""

from __future__ import annotations

from pydantic import ValidationError

from factory.schemas import WriteProposal
from shared.llm.reply import ReplyMalformed, extract_json_object
from shared.strict_json import JsonProblem, parse_json

_PROBLEMS_SHOWN = 5


class ProposalInvalid(Exception):
    """The reply is no proposal; the message is for the model's next attempt."""


def parse_proposal(reply: str) -> WriteProposal:
    """Return the proposal in `reply`. Raises `ProposalInvalid`."""
    if not reply.strip():
        raise ProposalInvalid("the reply is empty")
    try:
        document = parse_json(extract_json_object(reply))
    except (ReplyMalformed, JsonProblem) as problem:
        raise ProposalInvalid(str(problem)) from problem
    try:
        return WriteProposal.model_validate(document)
    except ValidationError as error:
        raise ProposalInvalid(_describe(error)) from error


def _describe(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(step) for step in problem['loc']) or 'reply'}: {problem['msg']}"
        for problem in problems[:_PROBLEMS_SHOWN]
    ]
    if len(problems) > _PROBLEMS_SHOWN:
        lines.append(f"and {len(problems) - _PROBLEMS_SHOWN} more")
    return "the JSON object is no proposal:\n" + "\n".join(lines)
