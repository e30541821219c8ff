"""Files and paths: written whole, read within bounds, never outside of where they belong."""
