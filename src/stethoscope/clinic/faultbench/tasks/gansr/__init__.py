"""Super-resolution with a generator and a discriminator."""
