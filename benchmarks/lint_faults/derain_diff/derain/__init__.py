"""Conditional diffusion for the removal of rain streaks."""
