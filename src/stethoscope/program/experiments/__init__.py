"""Networks of the source, computed on small arrays by a strict interpreter that guesses nothing."""
