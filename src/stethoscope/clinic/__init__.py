"""Sick training systems and their cures."""
