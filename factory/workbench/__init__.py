"""Where an order is worked on: a working tree with its sandbox, made anew for each attempt."""
