"""Holds what is known of Rust."""
