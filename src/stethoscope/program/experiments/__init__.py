"""Networks of the source, computed on small arrays by a strict interpreter of its own: what is not known is not guessed."""
