"""What settings a program declares, and what becomes of each."""
