"""Interface stubs: read, merged, compared."""
