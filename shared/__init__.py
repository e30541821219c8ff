"""What planner and factory both need: schemas, paths, git, processes, the model layer."""
