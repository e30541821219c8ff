"""The sentences the program can say."""


def greet(name: str = "") -> str:
    """Return a greeting for `name`; a blank name stands for the world."""
    return f"Hello, {_whom(name)}!"


def farewell(name: str = "") -> str:
    """Return a goodbye to `name`; a blank name stands for the world."""
    return f"Goodbye, {_whom(name)}!"


def _whom(name: str) -> str:
    return name.strip() or "world"
