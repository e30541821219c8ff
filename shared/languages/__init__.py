"""The languages that llmch knows something about, each behind one protocol."""
