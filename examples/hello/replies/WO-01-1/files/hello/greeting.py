"""Sentences to greet with."""


def greet(name: str = "") -> str:
    """Return the greeting of a person, or of the world where no name is given."""
    return f"Hello, {_named(name)}!"


def _named(name: str) -> str:
    return name.strip() or "world"
