"""The checkpoints a run saved, and those it was told to start from."""
