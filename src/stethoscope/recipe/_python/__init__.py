"""Python settings, computed from their text and never executed."""
