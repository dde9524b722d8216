"""A character-level GPT."""
