"""Everything Stethoscope itself raises, in one tree.

    StethoscopeError            something could not be examined; the message is for the user
    |-- NothingToRead           no log, settings or code at the path given
    |-- SeveralRuns             the paths given together tell of more than one run
    |-- UnwritableFile          the output could not be written where it was asked for
    |-- UnreadableFile          one file could not be read (a reader raises it; the run goes on without it)
    |-- UnknownRule             `explain` was asked about a code or name that does not exist
    |-- MissingExtra            a package that only this feature needs is not installed
    `-- GuardStopped            Guard ended a training that it could protect no longer

"The run is sick" is never an exception.
"""

from __future__ import annotations


class StethoscopeError(Exception):
    """The base of all errors a user may see; its text is the message."""


class NothingToRead(StethoscopeError):
    """Nothing at the path could be examined."""


class SeveralRuns(StethoscopeError):
    """The paths given together are of more than one run."""


class UnwritableFile(StethoscopeError):
    """The output cannot be written there."""


class UnreadableFile(StethoscopeError):
    """One file is not what it claims to be."""


class UnknownRule(StethoscopeError):
    """No rule has this code or name."""


class GuardStopped(StethoscopeError):
    """Training is over: what Guard may do without asking is used up, and the weights are still good."""


class MissingExtra(StethoscopeError, ImportError):
    """A package is missing that only this feature needs; the message is the line that installs it."""
