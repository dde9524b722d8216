"""The training loss: spikes, divergence, plateaus, terms and weights."""
