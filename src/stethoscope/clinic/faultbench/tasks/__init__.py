"""The trainings of FaultBench, one folder each."""
