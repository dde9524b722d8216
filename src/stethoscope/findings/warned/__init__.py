"""What PyTorch or a trainer itself warned of in the output."""
