"""llmch: from a specification to verified commits."""

__version__ = "0.1.0"
