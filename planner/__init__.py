"""Compiles a specification into a validated chain of work orders."""

import shared  # noqa: F401  # makes imports late
