"""Rules about the order of calls in training loops."""
