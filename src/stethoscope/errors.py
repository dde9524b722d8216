"""Everything Stethoscope itself raises, in one tree.

    StethoscopeError            something could not be examined; the message is for the user
    |-- NothingToRead           no log, settings or code at the path given
    |-- UnreadableFile          one file could not be read (a reader raises it; the run goes on without it)
    `-- UnknownRule             `explain` was asked about a code or name that does not exist

"The run is sick" is never an exception.
"""

from __future__ import annotations


class StethoscopeError(Exception):
    """The base of all errors a user may see; its text is the message."""


class NothingToRead(StethoscopeError):  # noqa: N818 - reads as a sentence at the raise site
    """Nothing at the path could be examined."""


class UnreadableFile(StethoscopeError):  # noqa: N818
    """One file is not what it claims to be."""


class UnknownRule(StethoscopeError):  # noqa: N818
    """No rule has this code or name."""
