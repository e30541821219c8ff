"""Writes files whole, reads them within bounds, and checks their paths."""
