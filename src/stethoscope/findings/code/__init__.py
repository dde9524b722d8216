"""The training source."""
