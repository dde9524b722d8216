"""Predicting the motion of damped springs."""
