"""The program raised an exception that nobody caught.

## How it works
Something in the program's own code, its data or its environment raised, and the run ended there.

## How to tell it from its look-alikes
Memory, disks, workers, collectives, indices and loggers have causes of their own. An exception that speaks
of NaN or of infinity is the last thing that went wrong, not the first. Where other ranks only say that a
peer is gone, the rank with another exception is the one to read.

## What cures it
Read the innermost frame that is the program's own; start from the last checkpoint with the same batch,
under a debugger. A crash of the interpreter itself leaves no traceback: faulthandler.enable() writes one.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, STRONG, Cause, Evidence
from stethoscope.findings import Finding


def _not_about_numbers(finding: Finding) -> bool:
    return finding.evidence.get("manner") != "numeric"


CAUSE = Cause(
    title="The program failed with an exception",
    prior=COMMON,
    evidence=(
        Evidence(
            "uncaught-exception",
            DECISIVE,
            "the run ends in an exception of its own",
            when=_not_about_numbers,
        ),
        Evidence("settings-refused", STRONG, "the framework refuses these settings"),
    ),
    confirm_by="start again from the last checkpoint with the same batch: it fails in the same place",
)
