"""Text logs by the shapes of their lines, and what trainers have in common in how they print."""
