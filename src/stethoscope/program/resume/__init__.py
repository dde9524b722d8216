"""What a checkpoint saves and what a resume restores."""
