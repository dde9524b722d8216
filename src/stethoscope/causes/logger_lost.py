"""The connection to the experiment tracker was lost, and the error was not caught.

## How it works
The client of a tracker calls a server; when the network is gone the call raises, and nobody catches it.

## How to tell it from its look-alikes
The traceback passes through the client. The curves are healthy up to the last step. A download of data or
of a model that fails is an exception of the program.

## What cures it
Log to files first (offline mode) and send them later; catch errors of the logger.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence

CAUSE = Cause(
    title="The logger ended the run",
    prior=OCCASIONAL,
    evidence=(
        Evidence("logger-connection-lost", DECISIVE, "the exception was raised in the client of the tracker"),
    ),
    confirm_by="start again offline: the training passes the step",
)
