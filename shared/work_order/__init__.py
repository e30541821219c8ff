"""Work orders and manifests: the documents that planner and factory share."""
