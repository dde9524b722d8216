"""Segmentation of stained tiles."""
