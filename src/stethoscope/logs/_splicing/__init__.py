"""The parts of joining logs: who tells the same, what was trained again, and what is left of it."""
