"""A small framework for training super-resolution networks."""
