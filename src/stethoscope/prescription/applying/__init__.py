"""Prescribed edits, made: which can be, in which project, written all together or not at all, and undone."""
