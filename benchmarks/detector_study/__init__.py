"""The parts of the study of detectors: curves, faults, and one judge for each detector."""
