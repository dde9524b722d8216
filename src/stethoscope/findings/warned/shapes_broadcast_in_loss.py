"""Output and target have different shapes, and the loss compares every one with every other.

## What it checks
PyTorch's own warning that the target of a loss has another size than its input. The sizes that it names are
read: where one is a batch of N and the other N by 1, broadcasting makes N times N pairs of them.

## Why it matters
Each output is then compared with the targets of all samples. The best that can be learned is their mean: the
loss falls to the variance of the target and stays there, and nothing looks broken.

## When it is harmless
Where one side has a single channel or a single sample and is meant for all of the others; that is a note.

## References
- torch.nn.functional.mse_loss
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import EventKind, Where
from stethoscope.signals.announcements import Announcements

RULE = Rule(code="WRN101", since="0.4", severity=Severity.CRITICAL)

_SIZE = r"size \(torch\.Size\(\[([\d, ]*)\]\)\)"
_SIZES = re.compile(rf"target {_SIZE}.*?input {_SIZE}")


def examine(said: Announcements) -> Iterator[Finding]:
    """Report the first such warning of each pair of ranks."""
    seen = set()
    for event in said.of(EventKind.FRAMEWORK_WARNING):
        sizes = _SIZES.search(event.message)
        if sizes is None:
            continue
        target, given = (_size(text) for text in sizes.groups())
        if (pair := (len(target), len(given))) in seen:
            continue
        seen.add(pair)
        every = _is_every_with_every(target, given)
        yield Finding(
            Where(event.file, event.line),
            f"the loss compares outputs of shape {list(given)} with targets of shape {list(target)}"
            + (": every output with every target" if every else ""),
            {"target": list(target), "input": list(given), "every_with_every": every},
            proof="the shapes are those that PyTorch names; broadcasting pairs each with all"
            if every
            else "",
            severity=Severity.CRITICAL if every else Severity.NOTE,
        )


def _size(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())


def _is_every_with_every(target: tuple[int, ...], given: tuple[int, ...]) -> bool:
    """Whether broadcasting makes more pairs than either side has values."""
    both = max(len(target), len(given))
    one, other = ((1,) * (both - len(size)) + size for size in (target, given))
    pairs = _product(tuple(max(a, b) for a, b in zip(one, other, strict=True)))
    return pairs > max(_product(one), _product(other))


def _product(size: tuple[int, ...]) -> int:
    total = 1
    for part in size:
        total *= part
    return total
