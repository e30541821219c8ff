"""What llmch costs, each figure beside its floor or a peer in the same run: `make bench`."""
