"""A run held to its trajectory as Markdown, for the summary of a job or a comment."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.report.check_words import headline, sentences, signal_sentence
from stethoscope.report.clean_text import one_line
from stethoscope.trajectory.holding import Judgement, not_examined


def render(judgement: Judgement) -> str:
    """A heading, the departures, a table of the signals, what could not be examined."""
    return "".join(f"{line}\n" for line in _lines(judgement))


def _lines(judgement: Judgement) -> Iterator[str]:
    yield f"## {_cell(headline(judgement))}"
    yield ""
    departures = [f"- **{_cell(name)}** {_cell(told)}" for name, told in sentences(judgement)]
    yield from [*departures, ""] if departures else []
    if judgement.signals:
        yield from ("| signal | outcome | |", "|---|---|---|")
        for one in judgement.signals:
            yield f"| {_cell(one.held.name)} | {one.outcome} | {_cell(signal_sentence(one))} |"
    missing = list(not_examined(judgement))
    if missing:
        yield from ("", "Not examined:", "")
        for name, why, log_this in missing:
            yield f"- {_cell(name)}: {_cell(why)}" + (f"; log it: `{one_line(log_this)}`" if log_this else "")


def _cell(text: str) -> str:
    shown = one_line(text)
    for letter in "\\`*_[]<>|":
        shown = shown.replace(letter, f"\\{letter}")
    return shown
