from __future__ import annotations

from tests.warm_checker import checker, warm_checker

__all__ = ["checker", "warm_checker"]
