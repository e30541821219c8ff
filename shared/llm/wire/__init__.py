"""Talks to model servers: sends requests, reads streams and retries."""
