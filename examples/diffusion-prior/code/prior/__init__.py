"""A denoising prior for images of several domains."""
