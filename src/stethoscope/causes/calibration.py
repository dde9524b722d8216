"""How far stated probabilities are spread: one number, fitted on FaultBench.

The log-odds of a cause are divided by TEMPERATURE before they become the probability that is shown, so that
of the causes called 80 % likely, 80 % are right. Above 1 it makes them more modest. It orders no causes
differently, and decides no verdict. 1.0 leaves them as the evidence adds up.

`scripts/calibrate.py BENCH --write` fits it by the log loss of the first cause, on the part of the bench
that may be tuned on, and writes it here.
"""

from __future__ import annotations

TEMPERATURE = 1.0  # not fitted
