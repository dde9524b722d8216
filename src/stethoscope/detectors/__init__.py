"""Pure judges of a series, shared by post-mortem and live protection.

A detector is `update(state, value) -> (state, verdict)`; where speed asks for it a vectorised `scan`
stands beside it, and a contract test holds the two equal.
"""
