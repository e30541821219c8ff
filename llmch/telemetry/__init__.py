"""Draws a command as a trace of OpenTelemetry, for whoever asks for it."""
