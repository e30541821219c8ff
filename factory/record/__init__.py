"""Records a run: the journal, its projection for `status`, and summaries."""
