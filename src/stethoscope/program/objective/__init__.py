"""What is minimised: the terms of a loss, their sizes and signs, and what they are computed on."""
