"""Begins a run on one branch, makes its orders, and sums them up."""
