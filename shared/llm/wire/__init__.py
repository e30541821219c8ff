"""Talks to model servers: requests, streams, retries."""
