"""Text that is put in the place of other text: what fixes are made of."""
