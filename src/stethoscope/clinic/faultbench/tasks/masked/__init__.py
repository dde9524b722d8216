"""Masked diffusion of protein sequences, with a curriculum of noise."""
