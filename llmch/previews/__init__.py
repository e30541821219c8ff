"""Says what a plan will do, and how two plans differ."""
