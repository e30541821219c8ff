"""What passes between model and repository: prompts, replies, and what a reply may write."""
