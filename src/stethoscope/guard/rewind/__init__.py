"""Copies of a training that goes well, and the way back to them."""
