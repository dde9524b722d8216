"""A super-resolution network whose averaged weights are validated."""
