"""Shell scripts that start trainings, read and never run."""
