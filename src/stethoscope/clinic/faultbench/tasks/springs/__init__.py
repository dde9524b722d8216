"""A residual MLP for regression."""
