"""Rows of named values, and the axis that counts them."""
