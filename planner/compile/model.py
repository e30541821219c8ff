"""How the planner asks: the Responses API, with reasoning and room for a whole plan."""

from __future__ import annotations

from dataclasses import dataclass

from shared.llm.client import Api, CallPlace, Request, Role


@dataclass(frozen=True, slots=True)
class PlannerModel:
    """Say which model plans or reviews and how it is asked.

    `max_output_tokens` includes reasoning. `None` leaves a parameter to the server.
    """

    model: str
    reasoning_effort: str | None
    max_output_tokens: int | None
    temperature: float | None = None

    def request(self, prompt: str, attempt: int, role: Role = Role.PLANNER) -> Request:
        """Return the request of one attempt, or of one round of a review.

        No schema goes along: a plan's shape is judged by rules that say what is wrong in words
        the model can act on, and a bound reply of this size fails on more servers than it helps.
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
