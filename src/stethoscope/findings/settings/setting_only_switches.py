"""A number in the settings decides whether something is done, and another number how much.

## What it checks
Fractions among the settings of the training (a decay, a rate, a weight, a probability) are followed through
the source. The rule fires where the value reaches nothing but questions of yes or no, `if cfg.ema > 0`, and
no computation and no call takes its size.

## Why it matters
Whoever writes 0.95 gets the number that stands in the source instead, and a search over the setting compares
runs that are all the same. Only 0 makes a difference, which is why it seems to work.

## When it is harmless
A value of 0 or 1 is a switch. A threshold that measured values are compared with takes part by its size, and
so does a number that is handed on anywhere. Where the settings cannot be followed nothing is said.

## References
- setting-never-used is a setting that does not even switch anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.switching_settings import SwitchingSettings

RULE = Rule(code="SET180", since="0.3", severity=Severity.WARNING, subject=Subject.SETTINGS)

NAMED = 3


def examine(switching: SwitchingSettings) -> Iterator[Finding]:
    """Fire on each fraction whose size nothing takes."""
    for setting in switching.settings:
        asked = ", ".join(str(place) for place in setting.asked_at[:NAMED])
        yield Finding(
            (setting.where, *setting.asked_at[:NAMED]),
            f"{setting.name} is {setting.value:g}, and the source only asks whether it is set ({asked}): "
            "what it switches on has a number of its own",
            evidence={"setting": setting.name, "value": setting.value},
            proof="every path of the value through the source ends in a question of yes or no",
        )
