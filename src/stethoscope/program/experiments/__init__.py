"""Networks of the source, computed on small arrays by a strict interpreter: what is not known is not guessed."""
