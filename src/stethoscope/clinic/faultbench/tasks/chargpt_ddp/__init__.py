"""A character-level GPT in two processes."""
