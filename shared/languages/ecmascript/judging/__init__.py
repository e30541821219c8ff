"""Judges code by contracts, with the TypeScript compiler, before the code under contract exists."""
