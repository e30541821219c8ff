"""Keeps the caps of a server: they are for all calls of a client together."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from llmch.verbs.mcp.messages import Spent
from shared.llm.cost.bounds import Budget


@dataclass(slots=True)
class Purse:
    """Hold the caps, and what the calls that are over have taken of them."""

    budget: Budget
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)

    def words(self) -> tuple[str, ...]:
        """Return the options that cap the next call by what is left."""
        words = []
        if self.budget.max_tokens is not None:
            words.append(f"--max-tokens={max(0, self.budget.max_tokens - self.tokens)}")
        if self.budget.max_cost_usd is not None:
            words.append(f"--max-cost={max(Decimal(0), self.budget.max_cost_usd - self.cost_usd)}")
        return tuple(words)

    def take(self, spent: Spent) -> None:
        """Take what a call has spent; an unknown cost takes all that is left."""
        self.tokens += spent.tokens
        if spent.cost_usd is not None:
            self.cost_usd += Decimal(str(spent.cost_usd))
        elif self.budget.max_cost_usd is not None:
            self.cost_usd = max(self.cost_usd, self.budget.max_cost_usd)

    def describe(self) -> str:
        """Return in words what is capped and what is spent of it; "" without a cap."""
        parts = []
        if self.budget.max_tokens is not None:
            parts.append(f"{self.tokens:,} of {self.budget.max_tokens:,} tokens")
        if self.budget.max_cost_usd is not None:
            parts.append(f"${self.cost_usd:.4f} of ${self.budget.max_cost_usd}")
        return f"this server has spent {' and '.join(parts)}" if parts else ""
