"""Everything the run logged, signal by signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stethoscope.detectors.non_finite import NonFinite, scan
from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class EverySeries:
    """All series with at least one value, by canonical name."""

    series: Mapping[str, Series]
    _bad: dict[str, NonFinite] = field(default_factory=dict, repr=False)

    def bad(self, name: str) -> NonFinite:
        """The values of a series that are not numbers, looked for when first asked for."""
        if name not in self._bad:
            self._bad[name] = scan(self.series[name].values)
        return self._bad[name]


def measure(run: Run) -> EverySeries | Missing:
    """Collect the series that hold anything."""
    series = {name: one for name, one in run.series.items() if len(one)}
    if not series:
        return Missing("no curves were logged", 'log({"step": step, "loss": loss.item()})')
    return EverySeries(series)
