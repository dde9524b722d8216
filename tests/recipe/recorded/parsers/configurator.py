"""Stands for nanoGPT's file of this name, which takes settings from the command line."""
