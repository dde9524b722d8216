"""Rules about the loss as the source computes it."""
