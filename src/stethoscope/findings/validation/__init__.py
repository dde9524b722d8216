"""The validation metrics: decline, overfitting, baselines."""
