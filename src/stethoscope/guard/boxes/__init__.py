"""A bad step as files that can run nothing, and its repetition."""
