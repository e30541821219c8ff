"""Every setting: declared once, read in layers."""
