"""Score-entropy discrete diffusion for protein sequences."""
