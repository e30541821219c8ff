"""The sentences the program can say."""


def greet(name: str = "") -> str:
    """Return a greeting for `name`; a blank name stands for the world."""
    return f"Hello, {name.strip() or 'world'}!"
