"""Where the training is another one than its settings ask for."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from stethoscope.report.address import address
from stethoscope.report.clean_text import one_line
from stethoscope.report.line import Line
from stethoscope.report.plan_words import difference
from stethoscope.run import Run
from stethoscope.signals.missing import Missing
from stethoscope.signals.training_plan import measure


def differences(run: Run) -> Iterator[Line]:
    """A sentence for each quantity whose setting and source do not agree."""
    plan = measure(run)
    for entry in () if isinstance(plan, Missing) else plan:
        pair = entry.differs
        if pair is not None:
            places = (pair[0].setting.where, *pair[1].where)
            yield Line(Text(one_line(difference(entry))) + address(places), indent=2, hang=2)
