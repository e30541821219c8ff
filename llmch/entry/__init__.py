"""The way in: finds the verb, reads the options, and turns errors into exit codes."""
