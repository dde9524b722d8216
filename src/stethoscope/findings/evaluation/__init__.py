"""Rules about how a network is measured: its mode, its weights, its metric, and what is kept as best."""
