"""The sentences the program can say."""


def greet(name: str = "world") -> str:
    """Return a greeting for `name`."""
    return f"Hello, {name}!"


def farewell(name: str = "world") -> str:
    """Return a goodbye to `name`."""
    return f"Goodbye, {name}!"
