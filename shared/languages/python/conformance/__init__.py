"""Decides whether code keeps its declared interfaces."""
