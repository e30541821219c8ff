"""The transcript of model calls: written, replayed, resumed."""
