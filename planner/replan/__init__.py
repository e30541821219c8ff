"""Makes a plan that follows another plan: what may change, and the two put together."""
