"""Interface contracts: stubs as work orders carry them, and what a type checker makes of them."""
