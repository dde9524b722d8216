"""A small image-classification trainer."""
