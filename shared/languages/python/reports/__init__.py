"""Reads how Python's tools report what failed, and looks at a failed `python -c` again."""
