"""Facts about weights: what they start from, and which layer feeds which."""
