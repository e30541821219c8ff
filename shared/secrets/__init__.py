"""What a secret's name looks like, and how its value is kept out of records."""
