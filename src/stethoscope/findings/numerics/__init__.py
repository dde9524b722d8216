"""Values that are not numbers."""
