"""What the factory is given and what it answers: orders, tasks, options, documents, verdicts."""
