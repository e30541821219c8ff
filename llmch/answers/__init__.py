"""The answers that several verbs give, and the codes that they name."""
