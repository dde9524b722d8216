"""What is measured, on what, in which mode, and which weights are kept for it."""
