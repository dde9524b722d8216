"""What the settings say that the program does not do."""
