"""Holds what planner and factory share, and the version: it imports nothing."""

from typing import Final

VERSION: Final = "0.1.0"
