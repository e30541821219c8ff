"""The model layer: one protocol, one transport, one transcript."""
