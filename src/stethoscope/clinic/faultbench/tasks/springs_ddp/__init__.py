"""A residual MLP for regression, trained by two processes."""
