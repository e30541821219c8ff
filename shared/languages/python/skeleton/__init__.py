"""Code that keeps an interface and does nothing."""
