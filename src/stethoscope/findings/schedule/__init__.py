"""The learning rate over the run."""
