"""A translator from spoken dates to written ones."""
