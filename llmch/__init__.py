"""llmch: from a specification to verified commits."""

from shared.version import VERSION

__version__ = VERSION
