"""Rules about the machine that a run is made on."""
