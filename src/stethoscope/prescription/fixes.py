"""The fixes that findings bring along, where no remedy makes them already."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from stethoscope.causes import RankedCause
from stethoscope.run import Fix, Splice


def unmade_fixes(cause: RankedCause, made: Collection[Splice]) -> Iterator[Fix]:
    """Each fix of a cause's evidence of which nothing is made yet."""
    taken = set(made)
    for argument in cause.arguments_for:
        for finding in argument.findings:
            if finding.fix is not None and taken.isdisjoint(finding.fix.splices):
                taken.update(finding.fix.splices)
                yield finding.fix


def slug(fix: Fix) -> str:
    """A fix by the kind of name that remedies have: clear-the-gradients-after-the-step."""
    return re.sub(r"[^a-z0-9]+", "-", fix.title.lower()).strip("-")
