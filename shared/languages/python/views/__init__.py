"""Shows which names modules have at each point of a plan."""
