"""What trackers keep in databases and tables."""
