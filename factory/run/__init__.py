"""One run on one branch: begins it, makes its orders, and sums them up."""
