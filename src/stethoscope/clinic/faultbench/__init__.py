"""FaultBench: real trainings with known faults, and how often Stethoscope is right about them.

Task       a small training that runs in seconds on one core
  Form     one way to put a fault, or something that only looks like one, into a task
  Nuisance a setting that is drawn anew for each run
Operator   a fault of the catalogue, with the causes that would be a right answer
Specimen   one run to be made: a task, its faults, a seed
Label      the truth about a run, kept apart from what is diagnosed
"""
