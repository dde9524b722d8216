"""What to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.text import Text

from stethoscope.prescription import Edit, Prescription
from stethoscope.report.address import address, file_name
from stethoscope.report.clean_text import one_line, shortened, visible
from stethoscope.report.line import BLANK, Line
from stethoscope.report.palette import HEADING, OF_DIFF

LONGEST_DIFF = 40  # lines of one diff shown without `verbose`
LONGEST_DIFF_LINE = 500
TAB = 8


def edits(prescription: Prescription, verbose: bool) -> Iterator[Line]:
    """The changes to make, as diffs, each with how far it may be trusted."""
    for number, edit in enumerate(prescription.edits):
        if number:
            yield BLANK
        yield Line(Text.assemble(file_name(edit.file), f": {_trust(edit)}"), indent=2, hang=2)
        yield from _diff(edit.diff, verbose)


def advice(prescription: Prescription) -> Iterator[Line]:
    """The next steps, in order."""
    for number, step in enumerate(prescription.advice, start=1):
        yield Line(Text(one_line(step)), indent=2, bullet=f"{number}. ")


def checkpoint(prescription: Prescription) -> Iterator[Line]:
    """The checkpoint to go back to, or why there is none."""
    advised = prescription.checkpoint
    if advised is not None:
        step = f" (step {advised.step:,})" if advised.step is not None else ""
        yield Line(
            Text.assemble(file_name(advised.path), f"{step}: {one_line(advised.why)}"), indent=2, hang=2
        )
        if advised.loses:
            lost = "; ".join(one_line(loss) for loss in advised.loses)
            yield Line(Text(f"Resuming from it loses: {lost}"), indent=4, hang=2)
    if prescription.checkpoint_note:
        yield Line(Text(one_line(prescription.checkpoint_note)), indent=2)


def expected(prescription: Prescription) -> Iterator[Line]:
    """What the next run should show if the diagnosis is right."""
    yield from _bullets(prescription.expect)


def to_log(prescription: Prescription) -> Iterator[Line]:
    """What to log next time."""
    yield from _bullets(prescription.log_next_time)


def not_recommended(prescription: Prescription, verbose: bool) -> Iterator[Line]:
    """What people would try here and should not."""
    for considered in prescription.not_recommended:
        text = Text(f"{one_line(considered.what)}: {one_line(considered.why)}")
        yield Line(text + address(considered.where, verbose), indent=2, hang=2)


def _trust(edit: Edit) -> str:
    record = "" if edit.maintained else "; this file is a record: mend the one it was copied from"
    return f"{edit.remedy}, for {', '.join(edit.cures)} ({edit.level.value}; {one_line(edit.proof)}{record})"


def _diff(diff: str, verbose: bool) -> Iterator[Line]:
    lines = diff.splitlines()
    shown = lines if verbose else lines[:LONGEST_DIFF]
    for line in shown:
        style = HEADING if line.startswith(("+++ ", "--- ")) else OF_DIFF.get(line[:1], "")
        text = visible(shortened(line.expandtabs(TAB), LONGEST_DIFF_LINE))
        yield Line(Text(text, style=style), indent=4, verbatim=True)
    if len(lines) > len(shown):
        yield Line(Text(f"... {len(lines) - len(shown):,} more lines; --verbose shows them"), indent=4)


def _bullets(texts: Iterable[str]) -> Iterator[Line]:
    for text in texts:
        yield Line(Text(one_line(text)), indent=2, bullet="- ")
