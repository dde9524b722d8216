"""Rules about several processes that must act alike."""
