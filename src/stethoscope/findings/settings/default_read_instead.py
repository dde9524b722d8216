"""The source asks for a setting where the file does not have it, and takes its default.

## What it checks
Reads with a default, such as `cfg.get("warmup", 0)`, `getattr(cfg, "warmup", 0)` and
`cfg.get("train", {}).get("batch_size", 32)`: whether the settings have no such name there, while a setting
that nothing reads is called the same in another section, or so alike that it can only be a slip. For the
rounds of a loop it is enough that the only setting of that name stands elsewhere. Variables that a launcher
exports are held against `os.environ.get("LR", 1e-3)` likewise, also by what they are for: LR, LEARNING_RATE.

## Why it matters
Neither the file nor the program complains. The run goes on with the default, and the value that somebody
wrote down and reported never arrived.

## When it is harmless
A setting that anything else reads, or that goes on with its whole section to where it cannot be followed, is
not reported. Names that are merely similar (`beta1`, `beta2`, `train_size`, `eval_size`) are two names.

## References
- `dict.get`, `getattr` with a default, `os.environ.get`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.missed_settings import MissedSettings

RULE = Rule(code="SET228", since="0.4", severity=Severity.WARNING, subject=Subject.SETTINGS)


def examine(missed: MissedSettings) -> Iterator[Finding]:
    """Report each setting that a default stands in for."""
    seen: set[object] = set()
    for one in missed.settings:
        if one.where in seen or str(one.value) == one.default:
            continue
        seen.add(one.where)
        lost = "not what the loop goes by" if one.read_too else "never read"
        yield Finding(
            (one.where, one.read),
            f"{one.name} (here {one.value!r}) is {lost}: the source asks for {one.asked}"
            f" and takes {one.default}",
            evidence={"setting": one.name, "asked": one.asked, "default": one.default},
        )
