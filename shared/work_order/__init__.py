"""Defines work orders and manifests, the documents that planner and factory share."""
