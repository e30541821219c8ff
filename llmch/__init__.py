"""Turns a specification into verified commits."""

from shared.version import VERSION

__version__ = VERSION
