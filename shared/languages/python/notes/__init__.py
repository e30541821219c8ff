"""Says in sentences what a person would point out in code, without running it."""
