"""Writes, replays and resumes the transcript of model calls."""
