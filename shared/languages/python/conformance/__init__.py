"""Whether code keeps its declared interfaces."""
