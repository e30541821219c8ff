"""Keeps these tests out of ordinary runs: they download a model and take minutes."""

import os

collect_ignore_glob = [] if os.environ.get("LLMCH_TEST_LIVE") else ["test_*.py"]
