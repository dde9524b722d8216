"""An image classifier that two processes train together."""
