"""Builds the planner's requests: to the Responses API, with reasoning and room for a plan."""

from __future__ import annotations

from dataclasses import dataclass

from shared.llm.client import Api, CallPlace, Request, Role


@dataclass(frozen=True, slots=True)
class PlannerModel:
    """Hold which model plans or reviews, and the parameters of its requests.

    `max_output_tokens` includes reasoning. `None` leaves a parameter to the server.
    """

    model: str
    reasoning_effort: str | None
    max_output_tokens: int | None
    temperature: float | None = None

    def request(self, prompt: str, attempt: int, role: Role = Role.PLANNER) -> Request:
        """Return the request of one attempt, or of one round of a review.

        The request carries no schema. Rules judge a plan's shape, and say what is wrong in words
        that the model can act on. A reply of this size that is bound to a schema fails on more
        servers than it helps.
        """
        return Request(
            api=Api.RESPONSES,
            model=self.model,
            prompt=prompt,
            place=CallPlace(role, attempt),
            max_output_tokens=self.max_output_tokens,
            temperature=self.temperature,
            reasoning_effort=self.reasoning_effort,
        )
