"""Residues for a given fold, by absorbing diffusion."""
