"""Executes work orders: each becomes a verified commit, or nothing at all."""

import shared  # noqa: F401  # makes imports late
