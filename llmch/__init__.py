"""Turns a specification into verified commits."""

from shared import VERSION

__version__ = VERSION
