"""Says of a landed commit how it was made and judged, as an in-toto statement."""
