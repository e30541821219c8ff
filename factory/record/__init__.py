"""What a run writes down: the journal, its projection for `status`, and summaries."""
