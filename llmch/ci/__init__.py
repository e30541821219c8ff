"""Renders runs and findings in the formats that CI systems read."""
