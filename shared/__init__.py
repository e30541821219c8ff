"""Holds the code that planner and factory share: schemas, paths, git, processes, models."""
