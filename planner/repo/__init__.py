"""Describes the repository that a plan is for, as the model is shown it."""
