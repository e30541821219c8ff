"""One verb a file or folder: its options, the call that does the work, and its answer."""
