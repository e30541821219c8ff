"""What modules offer at each point of a plan."""
